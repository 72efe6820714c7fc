"""Rotations, poses and frames as numpy arrays with any leading axes.

Quaternions are x y z w and unit; a pose is px py pz qx qy qz qw and maps coordinates of the inner frame to the outer:
x_out = p + R(q) x_in. Nothing here knows bodies or joints.

Sums are written out component by component and sines are taken one by one: numpy's own products of stacked matrices
and its vectorised sines may round differently with the number and stride of the stacked items, and a world must come
out the same alone and in any batch.

    vectors      vectors and matrices: products, lengths, frames
    quaternions  quaternions: products, rotations of vectors, matrices, rotation vectors and their rates
    poses        poses: products, inverses, points that they carry, how far they are apart
"""

from simcli.rotations.poses import *  # noqa: F403
from simcli.rotations.quaternions import *  # noqa: F403
from simcli.rotations.vectors import *  # noqa: F403
