import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { block, TextBlock } from "../../../src/cli/a2a/text.js";
import { openWorld, type World } from "./world.js";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

describe("TextBlock", () => {
  it("joins to the block of the whole text, wherever the text is split", () => {
    const piece = fc.string({ unit: fc.constantFrom("a", " ", "\n"), maxLength: 4 });
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), ([first = "", ...more]) => {
        const text = new TextBlock();
        const shown = text.begin(first) + more.map((each) => text.add(each)).join("") + text.end();
        expect(shown).toBe(block("Text", [first, ...more].join("")));
      }),
    );
  });
});

describe("a stream of pieces", () => {
  it("prints one text for each artifact, and the other events around it", async () => {
    const { out, exit } = await world.run(["send", "-a", "AGENT", "--stream", "stream 3 4"]);
    expect(exit).toBe(0);
    expect(out.match(/Text:/g)).toHaveLength(1);
    expect(out).toContain("Artifact Name: stream\nText:\n1 ..2 ..3 ..\n\nTask ID: ");
    const id = /Task ID: (\S+)/.exec(out)?.[1] ?? "";
    const followed = await world.run(["task", "subscribe", id, "-a", "AGENT"]);
    expect(followed.out).toContain("Text:\n1 ..2 ..3 ..\n\n");
  });
});

describe("a command that seems to name its agent by the text", () => {
  it.each(["chat", "send"])("says how to name it: %s", async (command) => {
    for (const text of ["http://localhost:8080", "localhost:8080", "agent.json"]) {
      const { exit, err } = await world.run([command, text]);
      expect([exit, err]).toEqual([2, expect.stringContaining(`Hint: name the agent by -a: ${command} -a ${text}\n`)]);
    }
    const { err } = await world.run([command, "What is http://localhost?"]);
    expect(err).toContain("no agent is named\n");
  });
});
