@rem Windows only: its shell has no "exec", which "npm start" needs elsewhere, so that a signal to npm reaches the server.
@%*
