import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type AgentEvent,
  artifact,
  completed,
  failed,
  inputRequired,
  reply,
  working,
} from "../../../src/agent/event.js";
import { httpBearerScheme } from "../../../src/auth/index.js";
import { ClientFold } from "../../../src/client/follow/fold.js";
import { answerIn } from "../../../src/examine/recording/answer.js";
import { differences, linesOf } from "../../../src/examine/recording/compare.js";
import type { Update } from "../../../src/task/answer.js";
import { build } from "../../e2e/support/build.js";
import { main } from "../cli.js";
import { type Json, openWorld, type Setup, type World } from "./world.js";

build();

/** The agent's behaviour, which tests change as an author would. */
interface Version {
  readonly greeting?: string;
  readonly pieces?: readonly string[];
  readonly hasFile?: boolean;
  readonly fails?: boolean;
  readonly asksTwice?: boolean;
  readonly isReversed?: boolean;
  readonly mediaType?: string;
}
let version: Version = {};

async function* execute({ text, task }: Json): AsyncGenerator<AgentEvent> {
  const { greeting = "Hello", pieces = ["one ", "two"], hasFile = true, fails = false, asksTwice = false } = version;
  if (text === "two") return yield* two(version);
  if (text === "hi") return yield reply(`${greeting}.`);
  if (text === "order" || asksTwice) {
    yield working();
    return yield inputRequired("How many?");
  }
  yield working();
  if (task !== undefined) yield artifact({ name: "order", data: { count: Number(text) } });
  for (const [at, piece] of pieces.entries()) {
    yield artifact({ artifactId: "t", name: "text", text: piece, append: at > 0 } as never);
  }
  if (hasFile) yield artifact({ name: "file", file: { bytes: new TextEncoder().encode("hello"), name: "a.txt" } });
  yield fails ? failed("no") : completed("Done.");
}

/** Yields two artifacts in either order. */
async function* two({ isReversed = false, mediaType = "text/markdown" }: Version): AsyncGenerator<AgentEvent> {
  const all = [
    artifact({ name: "a", parts: [{ text: "*one*", mediaType }] }),
    artifact({ name: "b", data: isReversed ? { x: 1, y: [{ z: 2, w: 3 }] } : { y: [{ w: 3, z: 2 }], x: 1 } }),
  ];
  yield working();
  yield* isReversed ? all.toReversed() : all;
  yield completed();
}

const folder = mkdtempSync(join(tmpdir(), "parley-record-"));
const file = join(folder, "talk.jsonl");
const turnsIn = (path: string): Json[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

let world: World;
beforeAll(async () => {
  world = await openWorld({ agent: { execute } });
});
afterEach(() => {
  version = {};
  rmSync(file, { force: true });
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

const talked = "hi\norder\n3\nlist\n";
const record = (setup: Setup = {}, ...more: readonly string[]) =>
  world.run(["record", file, "-a", "AGENT", ...more], { stdin: talked, ...setup });
const replay = (...more: readonly string[]) => world.run(["replay", file, "-a", "AGENT", ...more]);

describe("record and replay", { timeout: 30_000 }, () => {
  it.each(["jsonrpc", "rest", "grpc", "connect"])(
    "repeat a conversation over %s, and find it the same",
    async (binding) => {
      const recorded = await record({}, "--transport", binding);
      expect(recorded.exit, recorded.err).toBe(0);
      const [head, ...turns] = turnsIn(file);
      expect(head).toMatchObject({
        format: "parley-recording",
        version: 1,
        agent: "Probe",
        interface: { version: "1.0", url: expect.stringContaining("127.0.0.1") },
      });
      expect(turns.map(({ begins, answer }) => [begins, answer.state])).toEqual([
        [true, null],
        [false, "INPUT_REQUIRED"],
        [false, "COMPLETED"],
        [false, "COMPLETED"],
      ]);
      expect(turns[2]?.answer.artifacts[0]).toEqual({ name: "order", parts: [{ data: { count: 3 } }] });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      version = { pieces: ["o", "ne", " ", "two"] };
      const { exit, out, err } = await replay("--transport", binding);
      expect(exit, out + err).toBe(0);
      expect(out).toMatch(/^Turn 1: same, \d+ ms \(recorded: \d+ ms\)\n(.*\n){3}Result: 4 same, 0 different\n$/);
    },
  );

  it.each<[string, Version, (string | RegExp)[]]>([
    ["a text", { greeting: "Good day" }, ["Turn 1: different", "  -   Hello.", "  +   Good day."]],
    ["a state", { fails: true }, ["  - State: COMPLETED", "  + State: FAILED", "  -   Done.", "  +   no"]],
    ["an artifact that is missing", { hasFile: false }, ['  - Artifact "file":', /^ {2}- {3}\(file\) "a\.txt"/m]],
    ["a question more", { asksTwice: true }, ["Turn 3: different", "  + State: INPUT_REQUIRED"]],
  ])("show the difference of %s", async (_, changed, lines) => {
    await record();
    version = changed;
    const { exit, out } = await replay();
    expect(exit).toBe(1);
    for (const line of lines) expect(out).toMatch(line);
    const { json, exit: other } = await replay("-o", "json");
    expect(other).toBe(1);
    expect(json.differing).toBeGreaterThan(0);
    expect(json.turns.find(({ isSame }: Json) => !isSame).difference.length).toBeGreaterThan(1);
  });

  it("compare the shape alone with --shape", async () => {
    await record();
    version = { greeting: "Good day", pieces: ["three"] };
    expect((await replay()).exit).toBe(1);
    expect((await replay("--shape")).exit).toBe(0);
    version = { hasFile: false };
    expect((await replay("--shape")).exit).toBe(1);
  });

  it("do not compare the order of artifacts and of members, but media types", async () => {
    await record({ stdin: "two" });
    version = { isReversed: true };
    const { exit, out } = await replay();
    expect(exit, out).toBe(0);
    version = { mediaType: "text/html" };
    expect((await replay("--shape")).out).toContain("  +   (text) text/html");
  });

  it("record no turn that was not answered in time", async () => {
    world.before = ({ method, request }) => {
      if (request.message?.parts[0].text === "hi") stop.abort("SIGINT");
      expect(method).toBe("SendStreamingMessage");
    };
    const stop = new AbortController();
    const { exit } = await record({ stdin: "order\nhi\n", interrupted: stop.signal });
    world.before = () => {};
    expect(exit).toBe(130);
    expect(turnsIn(file).map(({ message }) => message?.parts[0].text)).toEqual([undefined, "order"]);
  });

  it("wait for the next line without a limit, until Ctrl-C", async () => {
    const stop = new AbortController();
    const stdin = new PassThrough();
    stdin.write("hi\n");
    const { exit, err } = await record(
      {
        stdin,
        interrupted: stop.signal,
        // The interrupt comes when the turn is over and the timeout has long passed.
        onOutput: (_, text) => void (text.includes("Hello.") && setTimeout(() => stop.abort("SIGINT"), 3_000)),
      },
      "--timeout",
      "2s",
    );
    expect([exit, err]).toEqual([130, expect.stringContaining("PARLEY_ERR_INTERRUPTED")]);
    expect(turnsIn(file)).toHaveLength(2);
  });

  it("take the new answers with --update", async () => {
    await record();
    version = { greeting: "Good day" };
    const { exit, out } = await replay("--update");
    expect(exit).toBe(0);
    expect(out).toContain("Result: 3 same, 1 different");
    expect((await replay()).exit).toBe(0);
    expect(turnsIn(file)[1]?.answer.message).toEqual([{ text: "Good day." }]);
  });

  it("record errors of turns by their codes", async () => {
    await record();
    world.before = ({ method }) => {
      if (method === "SendStreamingMessage") throw new Error("broken");
    };
    const { exit, out } = await replay();
    world.before = () => {};
    expect(exit).toBe(1);
    expect(out).toContain("  + Error: InternalError");
  });

  it("record no credential", async () => {
    const bearer = httpBearerScheme({ check: (token) => (token === "s3cret-token" ? { owner: "a" } : undefined) });
    const guarded = await openWorld({ agent: { execute, security: { schemes: { bearer } } } });
    try {
      const argv = ["record", file, "my token is s3cret-token", "-a", "AGENT"];
      const { exit, err } = await guarded.run(argv, { env: { A2ACLI_BEARER: "s3cret-token" } });
      expect(exit, err).toBe(0);
      expect(readFileSync(file, "utf8")).not.toContain("s3cret");
    } finally {
      await guarded.close();
    }
  });

  it("keep the members of the file with a credential that is named like one", async () => {
    const { exit, err } = await record({ stdin: "hi", env: { A2ACLI_BEARER: "text" } });
    expect(exit, err).toBe(0);
    expect(turnsIn(file)[1]?.answer.message).toEqual([{ text: "Hello." }]);
  });

  it("find answers with a credential the same, and never show it", async () => {
    const env = { A2ACLI_BEARER: "Hello" };
    await record({ stdin: "hi", env });
    const { exit, out } = await world.run(["replay", file, "-a", "AGENT"], { env });
    expect(exit, out).toBe(0);
  });

  it("end a replay whose credentials are refused, with the exit code of that", async () => {
    const bearer = httpBearerScheme({ check: (token) => (token === "s3cret-token" ? { owner: "a" } : undefined) });
    const guarded = await openWorld({ agent: { execute, security: { schemes: { bearer } } } });
    try {
      await record({ stdin: "hi" });
      const { exit, out, err } = await guarded.run(["replay", file, "-a", "AGENT"], {
        env: { A2ACLI_BEARER: "other" },
      });
      expect([exit, out]).toEqual([4, ""]);
      expect(err).toContain("A2ACLI_ERR_AUTH_FAILED");
    } finally {
      await guarded.close();
    }
  });

  it("read a last line without an end", async () => {
    await record({ stdin: "hi" });
    writeFileSync(file, readFileSync(file, "utf8").trimEnd());
    const { exit, out, err } = await replay();
    expect([exit, err]).toEqual([0, ""]);
    expect(out).toContain("Result: 1 same");
  });

  it("name the command that opens the recording in a browser", async () => {
    const { err } = await record({ stdin: "hi" });
    expect(err).toMatch(/^View or replay it in a browser: parley console --recording \/.*talk\.jsonl$/m);
  });

  it("do not replace a file unless told to", async () => {
    writeFileSync(file, "mine");
    const { exit, err } = await record();
    expect(exit).toBe(2);
    expect(err).toMatch(/talk\.jsonl exists\n.*\nHint: --force replaces it/);
    expect(readFileSync(file, "utf8")).toBe("mine");
    chmodSync(file, 0o644);
    expect((await record({}, "--force")).exit).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(turnsIn(file)).toHaveLength(5);
  });

  it.each([
    ["nothing", "", "line 1: is not a JSON object"],
    ["another file", '{"a":1}\n', "is not a recording"],
    ["a later version", '{"format":"parley-recording","version":2}\n', "is a recording of version 2, not 1"],
    [
      "a version that is no text",
      '{"format":"parley-recording","version":{"toString":1,"valueOf":1}}\n',
      'is a recording of version {"toString":1,"value, not 1',
    ],
    ["a broken line", '{"format":"parley-recording","version":1}\n{\n', "line 2: is not a JSON object"],
    ["no turn", '{"format":"parley-recording","version":1}\n{}\n', "line 2: is not a turn"],
    [
      "an answer of another form",
      '{"format":"parley-recording","version":1}\n{"message":{"parts":[{"text":"hi"}]},"answer":{"message":[null],"artifacts":[]}}\n',
      "line 2: is not a turn",
    ],
    ["no turns", '{"format":"parley-recording","version":1}\n', "has no turns"],
    [
      "a line that is nested too deep",
      `{"format":"parley-recording","version":1}\n{"a":${"[".repeat(500)}${"]".repeat(500)}}\n`,
      "line 2: is nested more than 400 levels deep",
    ],
    [
      "what is not a message",
      '{"format":"parley-recording","version":1}\n{"message":{"parts":[{"x":1}]},"answer":{"message":[],"artifacts":[]}}\n',
      "line 2: the message is not one of the protocol",
    ],
  ])("reject %s", async (_, text, fault) => {
    writeFileSync(file, text);
    world.seen.splice(0);
    const { exit, err } = await replay();
    expect(exit).toBe(2);
    expect(err).toContain(fault);
    expect(world.seen).toEqual([]);
  });

  it("reject a pipe or device, which may have no end", async () => {
    const { exit, err } = await world.run(["replay", "/dev/null", "-a", "AGENT"]);
    expect(exit).toBe(2);
    expect(err).toContain("is not a file\n");
  });

  it("lose no turn that is over when the process is killed", async () => {
    const child = spawn(process.execPath, [main, "record", file, "-a", `127.0.0.1:${world.server.port}`], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    let out = "";
    const answered = new Promise<void>((resolve) => {
      child.stdout.on("data", (piece) => {
        out += piece;
        if (out.includes("How many?")) resolve();
      });
    });
    child.stdin.write("hi\norder\n");
    await answered;
    while (turnsIn(file).length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("close", resolve));
    writeFileSync(file, `${readFileSync(file, "utf8")}{"begins":`);
    const { exit, out: replayed, err } = await replay();
    expect(exit, replayed + err).toBe(0);
    expect(err).toContain("the last line of");
    expect(replayed).toContain("Result: 2 same, 0 different");
  });
});

describe("the comparison", () => {
  it("takes what follows 100,000 lines as one, and notices a difference in it", () => {
    const linesWith = (end: string): readonly string[] =>
      linesOf({ state: null, message: [{ text: `${"\n".repeat(300_000)}${end}` }], artifacts: [], error: null }, false);
    const [one, other] = [linesWith("a"), linesWith("b")];
    expect(one.length).toBe(100_002);
    expect(differences(one, one)).toEqual([]);
    expect(differences(one, other).filter((line) => /^ {2}[+-]/.test(line))).toHaveLength(2);
  });

  const part = fc.oneof(
    fc.record({ text: fc.string() }),
    fc.record({ data: fc.jsonValue() as fc.Arbitrary<never> }),
    fc.record({ name: fc.string(), mediaType: fc.string(), size: fc.nat(), sha256: fc.string() }),
  );
  const answer = fc.record({
    state: fc.constantFrom("COMPLETED", "FAILED", null),
    message: fc.array(part, { maxLength: 3 }),
    artifacts: fc.array(fc.record({ name: fc.string(), parts: fc.array(part, { maxLength: 3 }) }), { maxLength: 3 }),
    error: fc.constantFrom(null, null, "InternalError"),
  });

  it("is the same, however a text is cut into pieces", async () => {
    const answerOf = (pieces: readonly string[]) => {
      const fold = new ClientFold();
      let last: Update | undefined;
      for (const [at, text] of pieces.entries()) {
        const piece = { artifactId: "a", name: "text", parts: [{ content: { case: "text" as const, value: text } }] };
        const value = { taskId: "t", contextId: "c", artifact: piece, append: at > 0 };
        last = fold.take(create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } })) ?? last;
      }
      return answerIn(last);
    };
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 60 }), fc.array(fc.integer({ min: 0, max: 9 })), async (text, cuts) => {
        const pieces: string[] = [];
        let at = 0;
        for (const size of cuts) {
          pieces.push(text.slice(at, at + size));
          at += size;
        }
        expect(await answerOf([...pieces, text.slice(at)])).toEqual(await answerOf([text]));
      }),
    );
  });

  it("gives up on answers that have too many differences, and shows both", () => {
    const side = (word: string) => Array.from({ length: 5_000 }, (_, at) => `${word} ${at}`);
    expect(differences(side("a"), side("b"))).toHaveLength(10_000);
  });

  it("has no difference for the same, and both sides of any other", () => {
    fc.assert(
      fc.property(answer, answer, fc.boolean(), (one, other, isShape) => {
        const [before, after] = [linesOf(one, isShape), linesOf(other, isShape)];
        expect(differences(before, before)).toEqual([]);
        const lines = differences(before, after);
        const isSame = JSON.stringify(before) === JSON.stringify(after);
        expect(lines.length === 0).toBe(isSame);
        if (isSame) return;
        const side = (marks: string) =>
          lines.filter((line) => marks.includes(line[2] ?? "")).map((line) => line.slice(4));
        expect(side(" -")).toEqual(before);
        expect(side(" +")).toEqual(after);
      }),
    );
  });
});
