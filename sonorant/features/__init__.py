"""The one front end of training and recognition, whole recordings and streams alike (`front_end`)."""
