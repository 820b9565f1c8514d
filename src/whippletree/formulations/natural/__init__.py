"""Natural coordinates (Garcia de Jalon and Bayo): bodies by points and unit vectors that they share at their joints."""
