"""The one door to the rows: questions with a sensitivity, charged before they are answered, answered with noise."""
