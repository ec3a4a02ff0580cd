import opgrid
from pybind11.setup_helpers import Pybind11Extension, build_ext
from setuptools import setup

setup(
    ext_modules=[
        Pybind11Extension("my_test._C", ["my_test.cpp"], cxx_std=17, include_dirs=[opgrid.get_include()]),
    ],
    cmdclass={"build_ext": build_ext},
)
