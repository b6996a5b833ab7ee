import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../../../src/cli/program.js";
import { outputTo } from "../memory-io.js";
import { openWorld, runIn, type World } from "./world.js";

const transports = ["jsonrpc", "rest", "grpc"] as const;

describe("what a run leaves and assumes", () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());

  /** Runs a command in a folder that is also the home directory. */
  async function runAt(folder: string, argv: readonly string[], terminal: object = {}) {
    let [out, err] = ["", ""];
    const io = {
      program: "parley",
      version: "1.2.3",
      env: {},
      cwd: folder,
      home: folder,
      interrupted: new AbortController().signal,
      stdin: new PassThrough().end(),
      stdout: Object.assign(
        outputTo((text) => {
          out += text;
        }),
        terminal,
      ),
      stderr: outputTo((text) => {
        err += text;
      }),
    };
    const at = ["-a", `127.0.0.1:${world.server.port}`, "--poll-interval", "20ms"];
    const exit = await runProgram([...argv, ...at], io);
    return { exit, out, err };
  }

  it("A2ACLI_INTERACT_005 stores no ids: no command leaves a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-state-"));
    try {
      const { out } = await runAt(folder, ["send", "ask Which city?", "-o", "json"]);
      const { id } = JSON.parse(out).task;
      for (const argv of [
        ["send", "Rome", "--task-id", id],
        ["task", "get", id],
        ["task", "list"],
        ["send", "stream 3", "--stream"],
        ["send", "hold", "--async"],
        ["task", "cancel", id],
      ]) {
        await runAt(folder, argv);
        expect(readdirSync(folder)).toEqual([]);
      }
      const help = await runIn(["send", "--help"]);
      expect(help.out).not.toMatch(/--continue|--last/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each(transports)("A2ACLI_OUT_005 writes the same to a terminal and a pipe (%s)", async (transport) => {
    const plain = (text: string): string => text.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "<id>");
    const argv = ["send", "stream 3", "--transport", transport, "--stream"];
    const pipe = await runAt(tmpdir(), argv);
    const colors = { isTTY: true, columns: 20, rows: 10, hasColors: () => true, getColorDepth: () => 24 };
    const terminal = await runAt(tmpdir(), argv, colors);
    expect(plain(terminal.out)).toBe(plain(pipe.out));
    expect(pipe.out).toContain("State: COMPLETED");
  });

  it.each([
    ["transport", "--transport", "grpc", "order of the card", "GRPC"],
    ["wait", "--async", undefined, "on for send, off for task get", "true", "async"],
    ["output", "-o", "json", "text", "json"],
    ["verbose", "--verbose", undefined, "false", "true"],
    ["a2a-version", "--a2a-version", "0.3", "newest of the card from 1.0", "0.3"],
    ["insecure", "--insecure", undefined, "false", "true"],
  ])(
    "A2ACLI_DEFAULT_001 shows the default of %s, which a flag overrides",
    async (name, flag, value, otherwise, set, row = name) => {
      const before = await runIn(["config", "show"]);
      expect(before.out).toContain(`${name}: ${otherwise} (source: default)\n`);
      const after = await runIn(["config", "show", flag, ...(value === undefined ? [] : [value])]);
      if (name === "output")
        expect(after.json).toContainEqual(expect.objectContaining({ name, value: set, source: "flag" }));
      else expect(after.out).toContain(`${row}: ${set} (source: flag)\n`);
    },
  );
});

describe.each(transports)("the tenant of an interface over %s", (transport) => {
  it("A2ACLI_TX_003 is sent as the card declares it, and otherwise none is", async () => {
    const plain = await openWorld();
    try {
      await plain.run(["send", "hi", "-a", "AGENT", "--transport", transport]);
      expect(plain.seen[0]?.request.tenant).toBeUndefined();
      const { json } = await plain.run(["card", "get", "AGENT", "-o", "json"]);
      for (const each of json.supportedInterfaces) each.tenant = "acme";
      const card = JSON.stringify({ ...json, signatures: undefined });
      plain.seen.splice(0);
      await runIn(["send", "hi", "-a", "./card.json", "--transport", transport], { files: { "card.json": card } });
      expect(new Set(plain.seen.map(({ request }) => request.tenant))).toEqual(new Set(["acme"]));
    } finally {
      await plain.close();
    }
  });
});
