"""What is wrong with a scene, where, and what to write instead.

In: what a check or pydantic finds. Out: the list of faults, in words, as JSON and as SARIF. Never here: the checks.

    fault_list   the list that collects every fault of a scene, and the nearest-name suggestion
    synonyms     words of other programs and formats, and what they are called here
    hints        what to write instead: the hint of an unknown key, a missing key, a value of the wrong kind
    validate     pydantic's errors to faults: code, words, and the place from the tree
    mend         faulty keys and values mended, so that what stands beside them is judged in the same pass
    codes        the pages of the fault codes: what is wrong, why it is refused, an example and its mended form
    diagnostics  faults for people and for programs: the snippet of a terminal, JSON, SARIF
"""
