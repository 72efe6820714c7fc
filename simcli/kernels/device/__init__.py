"""The device: where kernels run, how they compile, and where they are kept.

In: a wish for a device. Out: a started Taichi, folders of kernels. Never here: what kernels do.

    kernel_cache    folders of compiled kernels: which there are, what may be read and written
    kernel_session  the folder of kernels that Taichi sees from a start to its stop
    self_test       what a GPU must get right before a run is trusted to it: the elementary functions, undefined numbers
    dlpack          arrays of a device for other libraries, without a copy
    cuda            the CUDA driver: which device a process works on, and copies between the host and its arrays
    runtime         the device: start Taichi, choose where it runs, how it compiles
"""
