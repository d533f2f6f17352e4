"""What an author may want to know about speed: it says nothing about results, and no proof rests on it."""
