import { PassThrough, Writable } from "node:stream";
import { expect, it } from "vitest";
import { askSecret } from "../../../src/cli/a2a/auth/prompt.js";
import type { Io } from "../../../src/cli/io.js";

it("hides what is typed before it asks for a secret", async () => {
  const order: string[] = [];
  const setRawMode = (isRaw: boolean) => order.push(isRaw ? "hidden" : "shown");
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const write = (text: Buffer, _: string, done: () => void) => {
    order.push(String(text));
    // The answer arrives at once, as if it were pasted.
    if (String(text) === "Token: ") stdin.write("s3cret\r");
    done();
  };
  const stderr = Object.assign(new Writable({ write }), { isTTY: true });
  const io = { stdin, stderr } as unknown as Io;
  expect(await askSecret({ io, signal: new AbortController().signal }, "Token")).toBe("s3cret");
  expect(order).toEqual(["hidden", "Token: ", "shown", "\n"]);
});
