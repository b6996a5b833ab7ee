import { expect } from "vitest";
import type { Json, Outcome, Seen, Setup } from "./world.js";

/** One check of a requirement of the A2A CLI specification. */
export interface Case extends Setup {
  /** The requirement's id without the prefix `A2ACLI_`. */
  readonly id: string;
  readonly title: string;
  /** Without the options of the agent and the transport, which the runner adds. `AGENT` is the host of the agent. */
  readonly argv: readonly string[];
  /** True if the runner adds nothing: the case does not depend on the transport. */
  readonly isBare?: boolean;
  readonly exit?: number;
  /** Checks output and requests. */
  readonly check?: (outcome: Outcome, seen: readonly Seen[]) => void;
  /** True if the case also applies to an agent of 0.3. */
  readonly isOlder?: boolean;
}

const sends = (seen: readonly Seen[]): readonly Seen[] =>
  seen.filter(({ method }) => method === "SendMessage" || method === "SendStreamingMessage");
const message = (seen: readonly Seen[]) => sends(seen)[0]?.request.message;

export const cases: readonly Case[] = [
  {
    id: "CARD_GET_001",
    title: "shows the card of a host",
    argv: ["card", "get", "AGENT"],
    isBare: true,
    check: ({ out }) => {
      expect(out).toMatch(/^Name: Probe\nDescription: .+\nVersion: 1\.0\.0\n/);
      for (const label of ["Interface", "Streaming", "Push Notifications", "Extended Card", "Skill"]) {
        expect(out).toMatch(new RegExp(`^${label}: `, "m"));
      }
    },
  },
  {
    id: "CARD_GET_001",
    title: "reads a card from a file and selects the transport by it",
    argv: ["send", "-a", "./card.json", "hi"],
    isBare: true,
    files: {
      "card.json": JSON.stringify({
        name: "Filed",
        supportedInterfaces: [{ url: "http://127.0.0.1:9", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      }),
    },
    exit: 3,
    check: ({ err }) => expect(err).toContain("127.0.0.1:9"),
  },
  {
    id: "CARD_GET_001",
    title: "uses the URL of a card as it is",
    argv: ["card", "get", "http://AGENT/elsewhere", "-o", "json"],
    isBare: true,
    exit: 3,
    check: ({ json }) => expect(json.error.code).toBe("A2ACLI_ERR_CARD_NOT_FOUND"),
  },
  {
    id: "SEND_001",
    title: "sends one message",
    argv: ["send", "hello"],
    isOlder: true,
    check: ({ out }, seen) => {
      expect(sends(seen)).toHaveLength(1);
      expect(message(seen)).toMatchObject({ role: "ROLE_USER", parts: [{ text: "hello" }] });
      expect(message(seen).messageId).not.toBe("");
      expect(out).toMatch(/^Task ID: \S+\nContext ID: \S+\nState: COMPLETED\n/);
      expect(out).toContain("Text:\nhello\n\n");
    },
  },
  {
    id: "SEND_002",
    title: "waits until the task is finished",
    argv: ["send", "wait 50", "-o", "json"],
    isOlder: true,
    check: ({ json }) => expect(json.task.status.state).toBe("TASK_STATE_COMPLETED"),
  },
  {
    id: "SEND_002",
    title: "does not wait with --async",
    argv: ["send", "hold", "--async", "-o", "json"],
    check: ({ json }) => expect(json.task.status.state).toMatch(/SUBMITTED|WORKING/),
  },
  {
    id: "SEND_003",
    title: "prints events as they come",
    argv: ["send", "stream 3", "--stream", "-o", "json"],
    isOlder: true,
    check: ({ lines }) => {
      expect(lines.length).toBeGreaterThan(3);
      expect(lines[0].task.id).not.toBe("");
      expect(lines.at(-1).statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
    },
  },
  {
    id: "SEND_003",
    title: "ends a stream of one message",
    argv: ["send", "say hello", "--stream", "-o", "json"],
    check: ({ lines }) => expect(lines).toMatchObject([{ message: { parts: [{ text: "hello" }] } }]),
  },
  {
    id: "SEND_004",
    title: "shows every kind of part",
    argv: ["send", "parts"],
    isOlder: true,
    check: ({ out }) => {
      expect(out).toContain("Text:\none\n \ntwo\n\n");
      expect(out).toContain('Data:\n{\n  "answer": 42\n}\n\n');
      expect(out).toContain("File: a.bin (application/x-a, 5 bytes)\n");
      expect(out).toContain("File: b.pdf (application/pdf, https://example.org/b.pdf)\n");
    },
  },
  {
    id: "SEND_005",
    title: "binds a media type to the part before it, and infers it only without one",
    argv: ["send", "--file-part", "a.json", "--media-type", "image/png", "--file-part", "b.json"],
    files: { "a.json": "{}", "b.json": "{}" },
    check: (_, seen) =>
      expect(message(seen).parts.map((part: Json) => part.mediaType)).toEqual(["image/png", "application/json"]),
  },
  {
    id: "SEND_005",
    title: "rejects a media type before any part",
    argv: ["send", "--media-type", "text/plain", "--file-part", "a.json"],
    files: { "a.json": "{}" },
    exit: 2,
    check: ({ err }, seen) => {
      expect(err).toContain("--media-type");
      expect(seen).toEqual([]);
    },
  },
  {
    id: "SEND_006",
    title: "keeps the order of mixed parts, and reads one from stdin",
    argv: [
      "send",
      "first",
      "--data-part",
      "-",
      "--text-part",
      "third",
      "--file-part",
      "https://example.org/x.png",
      "--data",
      '{"n":5}',
    ],
    stdin: '{"n":2}',
    check: (_, seen) =>
      expect(message(seen).parts).toEqual([
        { text: "first" },
        { data: { n: 2 }, mediaType: "application/json" },
        { text: "third" },
        { url: "https://example.org/x.png", mediaType: "image/png" },
        { data: { n: 5 }, mediaType: "application/json" },
      ]),
  },
  {
    id: "INTERACT_001",
    title: "continues a context",
    argv: ["send", "hi", "--context-id", "01a21d21-75e5-7001-b20b-6afcf5be2c25"],
    check: (_, seen) => expect(message(seen)).toMatchObject({ contextId: "01a21d21-75e5-7001-b20b-6afcf5be2c25" }),
  },
  {
    id: "INTERACT_002",
    title: "fails for a task that the agent rejects, and starts no other",
    argv: ["send", "hi", "--task-id", "nope", "-o", "json"],
    exit: 1,
    check: ({ json }, seen) => {
      expect(json.error).toMatchObject({ code: "TaskNotFoundError", a2aCode: -32001 });
      expect(json.error.hint).toContain("--debug");
      expect(sends(seen)).toHaveLength(1);
    },
  },
  {
    id: "INTERACT_003",
    title: "invents no ids of the agent",
    argv: ["send", "hi"],
    check: (_, seen) => {
      expect(message(seen)).not.toHaveProperty("taskId");
      expect(message(seen)).not.toHaveProperty("contextId");
    },
  },
  {
    id: "INTERACT_004",
    title: "prints ids, state and the command that resumes",
    argv: ["send", "ask Which city?"],
    check: ({ out, err }) => {
      const [, id = ""] = /^Task ID: (\S+)$/m.exec(out) ?? [];
      expect(out).toContain("State: INPUT_REQUIRED\nText:\nWhich city?\n\n");
      expect(out).toMatch(new RegExp(`^Resume with: parley send .*--task-id ${id} "<reply>"$`, "m"));
      expect(err).toContain(`warning: task ${id}: INPUT_REQUIRED`);
    },
  },
  {
    id: "TASK_POLL_003",
    title: "stops at a task that needs authorization",
    argv: ["send", "auth", "--stream", "-o", "json"],
    check: ({ lines }) => expect(lines.at(-1).statusUpdate.status.state).toBe("TASK_STATE_AUTH_REQUIRED"),
  },
  {
    id: "AUTH_011",
    title: "says what a task needs authorization for, and how to resume",
    argv: ["send", "auth"],
    isOlder: true,
    check: ({ out, err }) => {
      const [, id = ""] = /^Task ID: (\S+)$/m.exec(out) ?? [];
      expect(out).toMatch(/^State: AUTH_REQUIRED\nText:\n.+/m);
      expect(out).toMatch(new RegExp(`^Resume with: parley task get .*${id} --wait$`, "m"));
      expect(err).toContain("note: the agent waits for an authorization");
      expect(err).toContain(`warning: task ${id}: AUTH_REQUIRED`);
    },
  },
  {
    id: "OUT_001",
    title: "writes results to stdout and the rest to stderr",
    argv: ["send", "fail badly", "-o", "json"],
    check: ({ json, err }) => {
      expect(json.task.status.state).toBe("TASK_STATE_FAILED");
      expect(err).toMatch(/warning: task \S+: FAILED/);
    },
  },
  {
    id: "OUT_002",
    title: "prints one document although the environment asks for a stream",
    argv: ["send", "hi", "-o", "json"],
    env: { A2ACLI_STREAM: "1" },
    check: ({ json }) => expect(Object.keys(json)).toEqual(["task"]),
  },
  {
    id: "OUT_003",
    title: "ends lines with the error",
    argv: ["send", "hi", "--task-id", "nope", "--stream", "-o", "json"],
    exit: 1,
    check: ({ lines }) => expect(lines.at(-1).error.code).toBe("TaskNotFoundError"),
  },
  {
    id: "OUT_005",
    title: "keeps the agent's text from driving the terminal",
    argv: ["send", "control"],
    check: ({ out }) => {
      expect(out).not.toMatch(/[^\P{Cc}\n]/u);
      expect(out).toContain("Artifact Name: evil\uFFFD[2J\\nState: FAKE\n");
    },
  },
  {
    id: "OUT_006",
    title: "prints ids with --async",
    argv: ["send", "hold", "--async"],
    check: ({ out }) => expect(out).toMatch(/^Task ID: \S+\nContext ID: \S+\nState: (?:WORKING|SUBMITTED)\n/),
  },
  {
    id: "EXIT_001",
    title: "exits with 2 for a wrong option, in JSON if that is asked for",
    argv: ["send", "--bogus", "-o", "json", "hi"],
    exit: 2,
    check: ({ json }) => expect(json.error).toMatchObject({ code: "A2ACLI_ERR_USAGE", a2aCode: null }),
  },
  {
    id: "EXIT_001",
    title: "exits with 2 for an unknown command",
    argv: ["./agent.ts"],
    isBare: true,
    exit: 2,
    check: ({ out, err }) => {
      expect(out).toBe("");
      expect(err).toMatch(
        /^Error: unknown command '.\/agent.ts' \(Did you mean serve .\/agent.ts\?\)\nCode: A2ACLI_ERR_USAGE\nHint: .+\n$/,
      );
    },
  },
  {
    id: "EXIT_002",
    title: "exits with 0 for a task that was rejected",
    argv: ["send", "reject no"],
    check: ({ out, err }) => {
      expect(out).toContain("State: REJECTED");
      expect(err).toMatch(/^warning: task \S+: REJECTED$/m);
    },
  },
  {
    id: "VER_001",
    title: "names the version once in every request",
    argv: ["send", "wait 20"],
    check: (_, seen) => {
      expect(seen.length).toBeGreaterThan(0);
      for (const { header } of seen) expect(header("a2a-version")).toBe("1.0");
    },
  },
  {
    id: "AUTH_001",
    title: "sends service parameters with each request",
    argv: ["send", "hi", "--svc-param", "x-one: 1", "--svc-param", "x-two=a:b"],
    check: (_, seen) => {
      expect(sends(seen)[0]?.header("x-one")).toBe("1");
      expect(sends(seen)[0]?.header("x-two")).toBe("a:b");
    },
  },
  {
    id: "CONFIG_001",
    title: "shows settings with their origins, without credentials",
    argv: ["config", "show", "-o", "json", "--timeout", "10s"],
    isBare: true,
    env: { A2ACLI_BEARER: "s3cret-token" },
    files: { ".env": "A2ACLI_POLL_INTERVAL=3s\n", "home/.config/a2a-cli/.env": "A2ACLI_VERBOSE=true\n" },
    check: ({ json, out }) => {
      const by = Object.fromEntries(json.map((row: Json) => [row.name, row]));
      expect(by.timeout).toMatchObject({ value: "10s", source: "flag" });
      expect(by.bearer).toMatchObject({ value: "[redacted]", source: "env", envVar: "A2ACLI_BEARER" });
      expect(by["poll-interval"]).toMatchObject({ value: "3s", source: "local-file" });
      expect(by.verbose).toMatchObject({ value: "true", source: "global-file" });
      expect(by.output.source).toBe("flag");
      expect(out).not.toContain("s3cret");
    },
  },
  {
    id: "CLI_001",
    title: "shows effective defaults and their origin in the help",
    argv: ["send", "--help"],
    isBare: true,
    env: { A2ACLI_TIMEOUT: "7s", A2ACLI_API_KEY: "s3cret-key" },
    check: ({ out, err }) => {
      expect(out.replace(/\s+/g, " ")).toContain("(default: 5m, env: A2ACLI_TIMEOUT, now: 7s (env))");
      expect(out.replace(/\s+/g, " ")).toContain("now: set (env)");
      expect(out).not.toContain("s3cret");
      expect(err).toBe("");
    },
  },
];
