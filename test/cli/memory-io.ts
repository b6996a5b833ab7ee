import { Writable } from "node:stream";

/** Returns an output that hands over each text when it is written. An exception fails the write. */
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
