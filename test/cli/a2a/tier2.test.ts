import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { artifact, completed, reply, working } from "../../../src/agent/event.js";
import { httpBearerScheme } from "../../../src/auth/index.js";
import { safeName } from "../../../src/cli/a2a/files/save.js";
import { openWorld, runIn, type World } from "./world.js";

const transports = ["jsonrpc", "rest", "grpc"] as const;
const WEBHOOK = "https://hooks.example.org/a";

/** Answers with files of all kinds. Some have unsafe names that a program must not use. */
const filer = {
  async *execute(turn: { readonly text: string }) {
    const [word = "", url = ""] = turn.text.split(" ");
    if (word === "reply") {
      yield reply([{ file: { bytes: new TextEncoder().encode("direct"), name: "direct.txt" } }]);
      return;
    }
    yield working();
    if (word === "url") {
      yield artifact({ id: "linked", file: { url, name: "linked.bin" } });
      yield completed();
      return;
    }
    yield artifact({ id: "report", file: { bytes: new TextEncoder().encode("%PDF"), name: "../../report.pdf" } });
    yield artifact({ id: "image", file: { bytes: new Uint8Array(3), mediaType: "image/png" } });
    yield artifact({ id: "notes", text: "Notes" });
    yield artifact({ id: "facts", data: { answer: 42 } });
    yield completed();
  },
};

describe.each(transports)("push configurations over %s", (transport) => {
  let world: World;
  let taskId = "";
  const to = (...argv: readonly string[]) => [...argv, "-a", "AGENT", "--transport", transport];
  beforeAll(async () => {
    const lookup = async () => [{ address: "127.0.0.1", family: 4 }];
    world = await openWorld({ push: { allow: ["hooks.example.org"], lookup } });
    const sent = await world.run(to("send", "hold", "--async", "-o", "json"));
    taskId = sent.json.task.id;
  });
  afterAll(() => world.close());

  it("A2ACLI_PUSH_001 are created, read, listed and deleted", async () => {
    const made = await world.run(
      to("task", "push-config", "create", taskId, "--url", WEBHOOK, "--id", "one", "--token", "tok-secret-1"),
      { env: {} },
    );
    expect(made.exit, made.err).toBe(0);
    expect(made.out).toBe(`Task ID: ${taskId}\nConfig ID: one\nURL: ${WEBHOOK}\n`);
    const two = await world.run(
      to(
        "task",
        "push-config",
        "create",
        taskId,
        WEBHOOK,
        "--auth-scheme",
        "Bearer",
        "--auth-credentials",
        "-",
        "-o",
        "json",
      ),
      { stdin: "cred-secret-2\n" },
    );
    expect(two.exit, two.err).toBe(0);
    expect(two.json).toMatchObject({ taskId, url: WEBHOOK, authentication: { scheme: "Bearer" } });
    expect(two.err).not.toContain("cred-secret");
    const one = await world.run(to("task", "push-config", "get", taskId, "one", "-o", "json"));
    expect(one.json).toMatchObject({ id: "one", taskId, url: WEBHOOK });
    const all = await world.run(to("task", "push-config", "list", taskId, "-o", "json"));
    expect(all.json.configs.map(({ id }: { id: string }) => id).sort()).toEqual(["one", two.json.id].sort());
    const shown = await world.run(to("task", "push-config", "list", taskId));
    expect(shown.out).toContain("Config ID: one\n");
    expect(shown.out).not.toMatch(/secret/);
    const gone = await world.run(to("task", "push-config", "delete", taskId, "one", "-o", "json"));
    expect(gone.json).toEqual({});
    const none = await world.run(to("task", "push-config", "get", taskId, "one"));
    expect(none.exit).toBe(1);
    expect(none.err).toContain("TaskNotFoundError");
  });

  it("A2ACLI_PUSH_001 take credentials of a variable, and never report them", async () => {
    const env = { A2ACLI_AUTH_CREDENTIALS: "cred-secret-3" };
    const argv = to("task", "push-config", "create", taskId, WEBHOOK, "--auth-scheme", "Bearer", "--debug");
    const { exit, out, err } = await world.run(argv, { env });
    expect(exit, err).toBe(0);
    expect(out + err).not.toContain("cred-secret-3");
    const seen = world.seen.findLast(({ method }) => method === "CreateTaskPushNotificationConfig");
    expect(seen?.request.authentication).toEqual({ scheme: "Bearer", credentials: "cred-secret-3" });
  });

  it.each([
    [["create", "t"], "the webhook has no URL"],
    [["create", "t", "ftp://x"], "is not a URL of http or https"],
    [["create", "t", WEBHOOK, "--auth-credentials", "x"], "--auth-credentials needs --auth-scheme"],
    [["list", "t", "--limit", "0"], "--limit"],
  ])("A2ACLI_PUSH_001 reject %j before anything is sent", async (words, text) => {
    world.seen.splice(0);
    const { exit, err } = await world.run(to("task", "push-config", ...words));
    expect([exit, err]).toEqual([2, expect.stringContaining(text)]);
    expect(world.seen).toEqual([]);
  });

  it("A2ACLI_VER_003 are not asked for if the card does not declare them", async () => {
    const other = await openWorld();
    try {
      const { exit, err } = await other.run(to("task", "push-config", "list", "t"));
      expect([exit, err]).toEqual([1, expect.stringContaining("PushNotificationNotSupportedError")]);
      expect(other.seen).toEqual([]);
    } finally {
      await other.close();
    }
  });
});

describe("files of answers", () => {
  let world: World;
  let folder = "";
  beforeAll(async () => {
    world = await openWorld({ agent: filer });
  });
  afterAll(() => world.close());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "parley-files-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const files = () => readdirSync(folder).sort();
  const text = (name: string) => readFileSync(join(folder, name), "utf8");
  const taskOf = async (message: string): Promise<string> =>
    (await world.run(["send", message, "-a", "AGENT", "-o", "json"])).json.task.id;

  it.each(transports)("A2ACLI_DOWNLOAD_001 are saved with safe names (%s)", async (transport) => {
    const id = await taskOf("files");
    const argv = ["task", "download", id, "-a", "AGENT", "--transport", transport, "--output-dir", folder];
    const { exit, out, err } = await world.run(argv);
    expect(exit, err).toBe(0);
    expect(files()).toEqual(["facts-1.json", "image-1.png", "notes-1.txt", "report.pdf"]);
    expect(text("report.pdf")).toBe("%PDF");
    expect(JSON.parse(text("facts-1.json"))).toEqual({ answer: 42 });
    expect(out).toContain(`State: COMPLETED\nSaved: ${join(folder, "report.pdf")}\n`);
  });

  it("A2ACLI_DOWNLOAD_001 are saved of the named artifacts only, and JSON stays the task", async () => {
    const id = await taskOf("files");
    const argv = ["task", "download", id, "-a", "AGENT", "--output-dir", folder, "--artifact", "notes", "-o", "json"];
    const { json, err } = await world.run(argv);
    expect(files()).toEqual(["notes-1.txt"]);
    expect(json.id).toBe(id);
    expect(err).toContain(`Saved: ${join(folder, "notes-1.txt")}`);
    const none = await world.run([...argv.slice(0, -4), "--artifact", "nope"]);
    expect([none.exit, none.err]).toEqual([2, expect.stringContaining('no artifact "nope"')]);
  });

  it("A2ACLI_DOWNLOAD_001 never replace a file or follow a link, unless forced", async () => {
    const id = await taskOf("files");
    const outside = join(folder, "outside");
    mkdirSync(join(folder, "in"));
    writeFileSync(outside, "kept");
    symlinkSync(outside, join(folder, "in", "report.pdf"));
    const argv = ["task", "download", id, "-a", "AGENT", "--artifact", "report", "--output-dir", join(folder, "in")];
    await world.run(argv);
    await world.run(argv);
    expect(readdirSync(join(folder, "in")).sort()).toEqual(["report (2).pdf", "report (3).pdf", "report.pdf"]);
    await world.run([...argv, "--force"]);
    expect(text("in/report.pdf")).toBe("%PDF");
    expect(text("outside")).toBe("kept");
  });

  it.each([
    ["send", ["send", "files"]],
    ["send --stream", ["send", "files", "--stream"]],
  ])("A2ACLI_DOWNLOAD_001 are saved by %s --save-fileparts", async (_, words) => {
    const { exit, out, err } = await world.run([...words, "-a", "AGENT", "--save-fileparts", join(folder, "new")]);
    expect(exit, err).toBe(0);
    expect(readdirSync(join(folder, "new")).sort()).toEqual(["image-1.png", "report.pdf"]);
    expect(out).toContain(`Saved: ${join(folder, "new", "report.pdf")}\n`);
  });

  it("A2ACLI_DOWNLOAD_001 are saved of a direct message", async () => {
    await world.run(["send", "reply", "-a", "AGENT", "--save-fileparts", folder]);
    expect(text("direct.txt")).toBe("direct");
  });

  it("A2ACLI_DOWNLOAD_001 are fetched by URL only if asked, and from allowed hosts only", async () => {
    const asked: string[] = [];
    const web = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.end("fetched");
    });
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    try {
      const id = await taskOf(`url http://127.0.0.1:${(web.address() as AddressInfo).port}/file`);
      const argv = ["task", "download", id, "-a", "AGENT", "--output-dir", folder];
      expect((await world.run(argv)).err).toContain("is not fetched (--fetch-urls)");
      const refused = await world.run([...argv, "--fetch-urls"]);
      expect([refused.exit, refused.err]).toEqual([1, expect.stringContaining("PARLEY_ERR_NOT_SAVED")]);
      expect([asked, files()]).toEqual([[], []]);
      expect((await world.run([...argv, "--fetch-urls", "--fetch-host", "127.0.0.1"])).exit).toBe(0);
      expect(text("linked.bin")).toBe("fetched");
    } finally {
      web.close();
    }
  });

  it("have names without folders, control characters and devices, whatever the agent says", () => {
    const character = fc.oneof(
      fc.constantFrom("/", "\\", ".", "\u0000", "\u001b", "\u202e", "C", ":", " "),
      fc.string(),
    );
    fc.assert(
      fc.property(
        fc.array(character).map((all) => all.join("")),
        (given) => {
          const name = safeName(given);
          expect(name).not.toMatch(/[/\\\p{Cc}\p{Cf}:]/u);
          expect(name).not.toMatch(/^\./);
          expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
        },
      ),
    );
    expect(["CON", "nul.txt", "a/../b.txt", "C:\\x\\y.exe", "..", "x\u202etxt.exe"].map(safeName)).toEqual([
      "_CON",
      "_nul.txt",
      "b.txt",
      "y.exe",
      "",
      "xtxt.exe",
    ]);
  });
});

describe("call", () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "stream 2" }] };

  it.each([...transports, "connect"])("calls a method and prints its response (%s)", async (transport) => {
    const to = ["-a", "AGENT", "--transport", transport];
    const sent = await world.run(["call", "SendMessage", JSON.stringify({ message }), ...to]);
    expect(sent.exit, sent.err).toBe(0);
    const { id } = sent.json.task;
    const read = await world.run(["call", "getTask", "-", ...to], { stdin: JSON.stringify({ id, historyLength: 0 }) });
    expect(read.json).toMatchObject({ id, status: { state: "TASK_STATE_COMPLETED" } });
    const streamed = await world.run(["call", "SendStreamingMessage", "request.json", ...to], {
      files: { "request.json": JSON.stringify({ message: { ...message, messageId: "n" } }) },
    });
    expect(streamed.lines.length).toBeGreaterThan(2);
    expect(streamed.lines.at(-1).statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it.each([
    ["an unknown method", ["call", "Nope"], "the methods are SendMessage"],
    ["text that is not JSON", ["call", "GetTask", "{"], "is neither a file nor JSON"],
    ["a wrong type", ["call", "GetTask", '{"id": 3}'], "the request is not a valid GetTaskRequest: id"],
  ])("rejects %s before anything is sent", async (_, argv, text) => {
    world.seen.splice(0);
    const { exit, err } = await world.run([...argv, "-a", "AGENT"]);
    expect([exit, err]).toEqual([2, expect.stringContaining(text)]);
    expect(world.seen).toEqual([]);
  });
});

describe("card get", () => {
  it("A2ACLI_CARD_GET_002 reports all violations with their places", async () => {
    const card = {
      name: "Broken",
      description: "",
      version: "1",
      price: 3,
      capabilities: {},
      supportedInterfaces: [{ url: "http://127.0.0.1:9", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      defaultInputModes: ["text"],
      defaultOutputModes: ["text/plain"],
      skills: [{ id: "a", name: "A", description: "a", tags: [] }],
    };
    const files = { "card.json": JSON.stringify(card), "typed.json": JSON.stringify({ ...card, skills: [{ id: 7 }] }) };
    const text = await runIn(["card", "get", "./card.json", "--validate"], { files });
    expect(text.exit).toBe(1);
    expect(text.out.trimEnd().split("\n")).toEqual([
      "Violation: /price is not known to A2A 1.0",
      "Violation: /description is empty",
      "Violation: /skills/0/tags is empty",
      'Violation: /defaultInputModes/0 "text" is not a media type',
    ]);
    const json = await runIn(["card", "get", "./typed.json", "--validate", "-o", "json"], { files });
    expect(json.json.error).toMatchObject({
      code: "A2ACLI_ERR_CARD_INVALID",
      message: expect.stringContaining("/skills/0/id"),
    });
  });

  it("A2ACLI_CARD_GET_002 accepts a sound card", async () => {
    const world = await openWorld();
    try {
      const { exit, out } = await world.run(["card", "get", "AGENT", "--validate"]);
      expect([exit, out]).toEqual([0, "Valid: yes\n"]);
    } finally {
      await world.close();
    }
  });

  it.each(transports)("A2ACLI_CARD_GET_003 shows the extended card (%s)", async (transport) => {
    const world = await openWorld({
      agent: {
        extendedCard: { description: "For those who log in." },
        security: { schemes: { bearer: httpBearerScheme({ check: () => ({ owner: "me" }) }) }, require: ["bearer"] },
      },
    });
    try {
      const { exit, json, err } = await world.run([
        ...["card", "get", "--extended", "-a", "AGENT", "--transport", transport, "-o", "json", "--bearer", "a-token"],
      ]);
      expect(exit, err).toBe(0);
      expect(json.description).toBe("For those who log in.");
    } finally {
      await world.close();
    }
  });

  it("A2ACLI_VER_003 does not ask for an extended card that the card does not declare", async () => {
    const world = await openWorld();
    try {
      const { exit, err } = await world.run(["card", "get", "--extended", "-a", "AGENT"]);
      expect([exit, err]).toEqual([1, expect.stringContaining("UnsupportedOperationError")]);
      expect(world.seen).toEqual([]);
    } finally {
      await world.close();
    }
  });

  it("A2ACLI_CARD_GET_004 says whether the card has signatures, and never that they are verified", async () => {
    const world = await openWorld();
    try {
      expect((await world.run(["card", "get", "AGENT"])).out).toContain("Signatures: none\n");
      const signed = { name: "S", supportedInterfaces: [], signatures: [{ protected: "e30", signature: "AA" }] };
      const { out } = await runIn(["card", "get", "./c.json"], { files: { "c.json": JSON.stringify(signed) } });
      expect(out).toContain("Signatures: 1, unverified");
    } finally {
      await world.close();
    }
  });
});
