import argus as ag
from argus import bfloat16
