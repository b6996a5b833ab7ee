import { spawn, spawnSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { build } from "../../e2e/support/build.js";
import { main, watch, workplaces } from "../cli.js";
import { openWorld, type World } from "./world.js";

build();
const place = workplaces();

describe("the process of a command", { timeout: 60_000 }, () => {
  let world: World;
  let host = "";
  beforeAll(async () => {
    world = await openWorld();
    host = `127.0.0.1:${world.server.port}`;
  });
  afterAll(() => world.close());

  const until = async (isSo: () => boolean): Promise<void> => {
    await expect.poll(isSo, { timeout: 30_000 }).toBe(true);
  };

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends at %s while it waits, with the way to resume, and leaves the task alone", async (signal, code) => {
    const waiting = place.run(["send", "-a", host, "-o", "json", "hold"]);
    await until(() => waiting.stderr().includes("Context ID:"));
    waiting.child.kill(signal);
    expect(await waiting.exited).toBe(code);
    const { error } = JSON.parse(waiting.stdout());
    expect(error).toMatchObject({ code: "PARLEY_ERR_INTERRUPTED", a2aCode: null });
    const [, id = ""] = /Task ID: (\S+)/.exec(waiting.stderr()) ?? [];
    const { json } = await world.run(["task", "get", id, "-a", "AGENT", "-o", "json"]);
    expect(json.status.state).toBe("TASK_STATE_WORKING");
  });

  it("takes signals at the same moment for one: npm and the terminal both pass Ctrl-C on", async () => {
    const listening = place.run(["listen"]);
    await until(() => listening.stderr().includes("Listening at"));
    // Two different signals, because the system merges two pending signals of the same kind.
    listening.child.kill("SIGINT");
    listening.child.kill("SIGTERM");
    expect(await listening.exited).toBe(0);
  });

  it.each([
    [["send", "--text-part", "-"]],
    [["send", "--file-part", "-"]],
    [["call", "GetTask", "-"]],
    [["task", "push-config", "create", "t", "https://h.example", "--auth-scheme", "x", "--auth-credentials", "-"]],
  ])("ends at SIGINT while it reads stdin for %j", async (argv) => {
    const reading = place.run([...argv, "-a", host], { NODE_DEBUG: "stream" });
    // NODE_DEBUG makes Node.js report the first read of stdin. The test leaves stdin open.
    await until(() => reading.stderr().includes("STREAM"));
    reading.child.kill("SIGINT");
    expect(await reading.exited).toBe(130);
  });

  describe.skipIf(process.platform === "win32")("with a named pipe", () => {
    beforeEach(() => void spawnSync("mkfifo", [join(place.path, "pipe")]));

    it.each([
      [["send", "--file-part", "pipe"]],
      [["send", "--data-part", "pipe"]],
      [["call", "GetTask", "pipe"]],
      [["listen", "--secret-file", "pipe"]],
    ])("ends at SIGINT while nobody writes it for %j", async (argv) => {
      const reading = place.run([...argv, ...(argv[0] === "listen" ? [] : ["-a", host])], { NODE_DEBUG: "stream" });
      await until(() => reading.stderr().includes("STREAM"));
      reading.child.kill("SIGINT");
      expect(await reading.exited).toBe(130);
    });

    it.each([[["send", "hi", "--ca", "pipe"]], [["bench", "--compare", "pipe"]]])("refuses it for %j", async (argv) => {
      const refused = place.run([...argv, "-a", `https://${host}`]);
      expect(await refused.exited).toBe(2);
      expect(refused.stderr()).toContain("is not a file");
    });

    describe("during a look-up that holds a thread", () => {
      const hold = `const dns = require("node:dns");
        const { lookup } = dns;
        dns.lookup = (...args) => {
          require("node:fs").open("pipe", () => {});
          lookup(...args);
          console.error("LOOKUP");
        };`;
      const send = (...flags: readonly string[]) => {
        writeFileSync(join(place.path, "hold.cjs"), hold);
        const env = { NODE_OPTIONS: "--require ./hold.cjs", UV_THREADPOOL_SIZE: "1" };
        return place.run(["send", "hi", "-a", "http://agent.example", ...flags], env);
      };

      it.each(["SIGINT", "SIGTERM"] as const)("ends at %s", async (signal) => {
        const sending = send();
        await until(() => sending.stderr().includes("LOOKUP"));
        sending.child.kill(signal);
        expect(await sending.exited).toBe(signal);
        expect(sending.stderr()).toContain("PARLEY_ERR_INTERRUPTED");
      });

      it("ends at SIGINT after its timeout", async () => {
        const sending = send("--timeout", "1s");
        await until(() => sending.stderr().includes("A2ACLI_ERR_TIMEOUT"));
        // The process exits just after the message, so the signal is repeated.
        const more = setInterval(() => sending.child.kill("SIGINT"), 100);
        expect(await sending.exited).toBe("SIGINT");
        clearInterval(more);
      });
    });

    it("sends what is written to it", async () => {
      const sending = place.run(["send", "echo", "--file-part", "pipe", "-a", host]);
      spawn("sh", ["-c", "printf hi > pipe"], { cwd: place.path });
      expect(await sending.exited, sending.stderr()).toBe(0);
    });
  });

  it("refuses endless input and text that is not UTF-8", async () => {
    const device = place.run(["send", "-a", host, "--file-part", "/dev/zero"]);
    expect(await device.exited).toBe(2);
    expect(device.stderr()).toContain("--file-part: /dev/zero is larger than 64 MiB");
    const text = place.run(["send", "-a", host, "-"]);
    text.child.stdin?.end(Buffer.from([0x61, 0xff]));
    expect(await text.exited).toBe(2);
    expect(text.stderr()).toContain("stdin is not text in UTF-8");
  });

  it("ends with 0 when the reader of its output has gone", async () => {
    const child = spawn(process.execPath, [main, "send", "-a", host, "--stream", "stream 2000 200 5"], {
      cwd: place.path,
      env: { PATH: process.env.PATH ?? "" },
    });
    const run = place.keep(watch(child));
    await until(() => run.stdout().includes("Artifact ID:"));
    child.stdout.destroy();
    expect(await run.exited).toBe(0);
    expect(run.stderr()).toBe("");
  });

  it("reads a part from stdin, and writes bytes of other alphabets whole", async () => {
    const run = place.run(["send", "-a", host, "-"]);
    run.child.stdin?.end("Grüße, 世界");
    expect(await run.exited).toBe(0);
    expect(run.stdout()).toContain("Text:\nGrüße, 世界\n\n");
  });

  it("is called a2a in its hints under that name", async () => {
    const link = join(place.path, "a2a");
    symlinkSync(main, link);
    const child = spawn(process.execPath, [link, "send", "-a", host, "ask What?"], { cwd: place.path });
    const run = place.keep(watch(child));
    expect(await run.exited).toBe(0);
    expect(run.stdout()).toMatch(/^Resume with: a2a send /m);
  });

  it("prints version and help on stdout alone", async () => {
    for (const args of [["--version"], ["-v"], ["-V"], ["--help"], [], ["help", "task", "get"], ["completions"]]) {
      const run = place.run(args);
      const isError = args[0] === "completions";
      expect(await run.exited).toBe(isError ? 2 : 0);
      expect(run.stdout() === "").toBe(isError);
      expect(run.stderr() === "").toBe(!isError);
    }
  });
});
