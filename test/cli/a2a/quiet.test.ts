import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openWorld, type World } from "./world.js";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

describe("--quiet prints the answer alone", { timeout: 30_000 }, () => {
  const transports = ["jsonrpc", "rest", "grpc", "connect"];
  const answers: readonly (readonly [about: string, text: string, out: RegExp | string])[] = [
    ["a message", "say hello there", "hello there\n"],
    ["an artifact", "echo one two", "one two\n"],
    ["artifacts in pieces", "stream 3 4", "1 ..2 ..3 ..\n"],
    ["a question", "ask Which size?", "Which size?\n"],
    ["text without its other parts", "parts", "one\n\ntwo\n"],
    ["data, if there is no text", "data", /^\{.*\}\n$/],
    ["text that cannot drive the terminal", "control", /^\P{Cc}*\n$/u],
  ];
  it.each(answers)("of %s, over every binding, with and without --stream", async (_, text, expected) => {
    for (const transport of transports) {
      for (const more of [[], ["--stream"]]) {
        const { exit, out, err } = await world.run([
          "send",
          text,
          "-q",
          "-a",
          "AGENT",
          "--transport",
          transport,
          ...more,
        ]);
        expect(exit, err).toBe(0);
        const about = `${transport} ${more}`;
        if (typeof expected === "string") expect(out, about).toBe(expected);
        else expect(out, about).toMatch(expected);
      }
    }
  });

  it("of a task that is read, waited for and followed", async () => {
    const { json } = await world.run(["send", "echo later", "-a", "AGENT", "-o", "json"]);
    for (const command of [
      ["task", "get"],
      ["task", "subscribe"],
    ]) {
      const { out } = await world.run([...command, json.task.id, "--quiet", "-a", "AGENT"]);
      expect(out).toBe("later\n");
    }
    const { out } = await world.run(["task", "get", json.task.id, "-q", "--wait", "-a", "AGENT"]);
    expect(out).toBe("later\n");
  });

  it("of a task with artifacts that have no text, the same when it is read and when it is followed", async () => {
    const { json } = await world.run(["send", "parts", "-a", "AGENT", "-o", "json"]);
    for (const command of ["get", "subscribe"]) {
      const { out } = await world.run(["task", command, json.task.id, "-q", "-a", "AGENT"]);
      expect(out, command).toBe("one\n\ntwo\n");
    }
  });

  it("and tells how to go on, and of failures, on stderr", async () => {
    const asked = await world.run(["send", "ask Which?", "-q", "-a", "AGENT"]);
    expect(asked.out).toBe("Which?\n");
    expect(asked.err).toMatch(/^Resume with: parley send .* --task-id /m);
    const failed = await world.run(["send", "fail badly", "-q", "-a", "AGENT"]);
    expect(failed.err).toMatch(/^warning: task .*: FAILED$/m);
  });

  it("and not with JSON, before anything is sent", async () => {
    world.seen.splice(0);
    for (const command of [
      ["send", "hi"],
      ["task", "get", "t1"],
      ["task", "subscribe", "t1"],
    ]) {
      const { exit, json } = await world.run([...command, "-q", "-o", "json", "-a", "AGENT"]);
      expect(exit).toBe(2);
      expect(json.error.message).toContain("--quiet");
    }
    expect(world.seen).toEqual([]);
  });
});
