"""What small mechanisms disclose, exactly: no attacker, all tables of a universe."""
