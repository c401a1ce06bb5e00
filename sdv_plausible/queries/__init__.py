"""The one door to the rows.

Questions with a sensitivity, charged before they are answered, answered with noise.
"""
