import { Writable } from "node:stream";

/** Returns an output that passes each written text to `add`. An exception of `add` fails the write. */
export function outputTo(add: (text: string) => void): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      try {
        add(String(chunk));
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  }).on("error", () => {});
}
