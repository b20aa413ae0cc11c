"""The pre-trained networks, each behind the protocol of `base.py`: read a set into a state, judge patterns in it."""
