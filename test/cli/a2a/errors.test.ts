import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cover } from "../../support/cover.js";
import { openWorld, runIn, type World } from "./world.js";

/** Errors of the agent, with the code, number and exit status that every binding gives them. */
const errors: readonly (readonly [reason: string, code: string, a2aCode: number | null, exit: number])[] = [
  ["TASK_NOT_FOUND", "TaskNotFoundError", -32001, 1],
  ["TASK_NOT_CANCELABLE", "TaskNotCancelableError", -32002, 1],
  ["PUSH_NOTIFICATION_NOT_SUPPORTED", "PushNotificationNotSupportedError", -32003, 1],
  ["UNSUPPORTED_OPERATION", "UnsupportedOperationError", -32004, 1],
  ["CONTENT_TYPE_NOT_SUPPORTED", "ContentTypeNotSupportedError", -32005, 1],
  ["INVALID_AGENT_RESPONSE", "InvalidAgentResponseError", -32006, 1],
  ["EXTENDED_AGENT_CARD_NOT_CONFIGURED", "ExtendedAgentCardNotConfiguredError", -32007, 1],
  ["EXTENSION_SUPPORT_REQUIRED", "ExtensionSupportRequiredError", -32008, 1],
  ["VERSION_NOT_SUPPORTED", "VersionNotSupportedError", -32009, 1],
  ["INVALID_REQUEST", "InvalidRequestError", -32600, 1],
  ["INVALID_PARAMS", "InvalidParamsError", -32602, 1],
  ["INTERNAL", "InternalError", -32603, 1],
  ["TOO_MANY_REQUESTS", "A2ACLI_ERR_INTERNAL", 429, 1],
  ["UNAVAILABLE", "A2ACLI_ERR_UNREACHABLE", null, 3],
  ["UNAUTHENTICATED", "A2ACLI_ERR_CREDENTIALS_MISSING", 401, 4],
  ["PERMISSION_DENIED", "A2ACLI_ERR_CREDENTIALS_MISSING", 403, 4],
];

const transports = ["jsonrpc", "rest", "grpc", "connect"];

describe("A2ACLI_OUT_004 errors", { timeout: 60_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());

  const rows = errors.flatMap(([reason, code, a2aCode, exit]) =>
    transports.map((transport) => ({ reason, code, a2aCode, exit, transport })),
  );
  const chosen = cover(rows, ({ reason, transport, exit }) => [reason, `${transport} ${exit}`]);

  it.each(chosen)("$reason over $transport is $code", async ({ reason, code, a2aCode, exit, transport }) => {
    const argv = ["task", "get", "-a", "AGENT", "--transport", transport, `error-${reason}`];
    const outcome = await world.run([...argv, "-o", "json"]);
    expect(outcome.json).toEqual({ error: { code, message: expect.any(String), hint: expect.any(String), a2aCode } });
    expect(outcome.exit).toBe(exit);
    const text = await world.run(argv);
    expect(text.out).toBe("");
    expect(text.err).toMatch(new RegExp(`^Error: .+\nCode: ${code}\nHint: .+\n$`));
  });

  it.each([
    [["send", "hi"], "no agent is named"],
    [["send", "hi", "-a", "AGENT", "-e", "http://AGENT", "--transport", "rest"], "exclude each other"],
    [["send", "hi", "-e", "http://AGENT"], "exactly one --transport"],
    [["send", "hi", "-a", "AGENT", "--stream", "--async"], "exclude each other"],
    [["send", "hi", "-a", "AGENT", "--wait", "--async"], "exclude each other"],
    [["send", "hi", "-a", "AGENT", "--wait", "--no-wait"], "exclude each other"],
    [["send", "-a", "AGENT"], "nothing to send"],
    [["send", "-a", "AGENT", "--text-part", "-", "--data-part", "-"], "only one part"],
    [["send", "-a", "AGENT", "--file-part", "./missing"], "--file-part"],
    [["send", "-a", "AGENT", "--data-part", "./missing"], "--data-part"],
    [["send", "hi", "-a", "AGENT", "--poll-interval", "0"], "more than 0"],
    [["send", "hi", "-a", "AGENT", "--timeout", "-1"], "--timeout"],
    [["send", "hi", "-a", "AGENT", "--timeout", "soon"], "is not a duration"],
    [["send", "hi", "-a", "AGENT", "--metadata", "[1]"], "is not a JSON object"],
    [["send", "hi", "-a", "AGENT", "--svc-param", "nothing"], "name:value"],
    [["send", "hi", "-a", "AGENT", "--transport", "pigeon"], "is not a transport"],
    [["send", "hi", "-a", "AGENT", "--a2a-version", "7.0"], "is not a supported version of A2A"],
    [["send", "hi", "-a", "ftp://AGENT"], "not a URL with http"],
    [["send", "hi", "there", "-a", "AGENT"], "too many arguments"],
    [["task", "get", "-a", "AGENT"], "missing required argument"],
    [["task"], "a command is missing"],
    [["task", "explode"], "unknown command"],
    [["help", "explode"], "unknown command"],
    [["cancel", "t1"], "unknown command 'cancel' (Did you mean task cancel?)"],
    [["task", "cancle"], "unknown command 'cancle' (Did you mean cancel?)"],
    [["auth", "list"], "unknown command 'list'"],
    [["config", "show", "--stream"], "has no --stream"],
    [["config", "show", "--config", "missing.env"], "cannot be read"],
    [["task", "list", "-a", "AGENT", "--status", "bored"], "is not a state"],
    [["task", "list", "-a", "AGENT", "--limit", "101"], "from 1 to 100"],
  ])("EXIT_001 %j is a usage error", async (argv, message) => {
    world.seen.splice(0);
    const { exit, json } = await world.run(["-o", "json", ...argv]);
    expect(json.error.message).toContain(message);
    expect({ exit, code: json.error.code, seen: world.seen }).toEqual({ exit: 2, code: "A2ACLI_ERR_USAGE", seen: [] });
  });

  it("exits with 3 if nothing listens", async () => {
    const { exit, json } = await runIn(["card", "get", "127.0.0.1:9", "-o", "json"]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 3, code: "A2ACLI_ERR_UNREACHABLE" });
  });

  it.each([
    ["{", "A2ACLI_ERR_CARD_INVALID", 1],
    ["[]", "A2ACLI_ERR_CARD_INVALID", 1],
    ["{}", "A2ACLI_ERR_CARD_INVALID", 1],
  ])("reports the card %s", async (text, code, exit) => {
    const outcome = await runIn(["card", "get", "./c.json", "-o", "json"], { files: { "c.json": text } });
    expect({ exit: outcome.exit, code: outcome.json.error.code }).toEqual({ exit, code });
  });

  it("reads no more of a file than a card may have, also where the file has no end", async () => {
    for (const file of ["/dev/zero", "./c.json"]) {
      const { json } = await runIn(["card", "get", file, "-o", "json"], {
        files: { "c.json": `{"name":"${"x".repeat(1024 * 1024)}"}` },
      });
      expect(json.error).toMatchObject({
        code: "A2ACLI_ERR_CARD_INVALID",
        message: expect.stringMatching(/ is larger than 1 MiB\.$/),
      });
    }
  });

  it("shows a card with all its members, known or not", async () => {
    const card = { zebra: [1], name: "Filed", supportedInterfaces: [], skills: [] };
    const { json } = await runIn(["card", "get", "./c.json", "-o", "json"], {
      files: { "c.json": JSON.stringify(card) },
    });
    expect(json).toEqual(card);
  });
});
