import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentInterfaceSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Agent, completed, createServer } from "../../src/index.js";
import { shellCommand } from "../../src/page/command.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { grpcurlProgram } from "./support/grpcurl.js";
import { type Printed, run } from "./support/tool.js";

const service = "lf.a2a.v1.A2AService";

const echo: Agent = {
  card: { name: "Echo", description: "Says it again.", version: "1.0.0", skills: [] },
  async *execute({ text }) {
    yield completed(`heard ${text}`);
  },
};

const home = new Home();
let server: ServerProcess;
let program: string;

beforeAll(async () => {
  program = await grpcurlProgram();
  server = await home.start();
});

afterAll(() => home.leave());

/** Runs grpcurl without a proto file, so that it learns everything from the server's reflection. */
function grpcurl(flags: readonly string[], ...what: readonly string[]): Promise<Printed> {
  return run(program, ["-plaintext", ...flags, `127.0.0.1:${server.grpcPort}`, ...what]);
}

function call(rpc: string, request: object, ...flags: readonly string[]): Promise<Printed> {
  return grpcurl(["-d", JSON.stringify(request), ...flags], `${service}/${rpc}`);
}

function say(text: string): object {
  return { message: { messageId: text, role: "ROLE_USER", parts: [{ text }] } };
}

/** Several JSON documents, printed one after the other. */
function documents(text: string): unknown[] {
  return text
    .split(/^(?=\{)/m)
    .filter((part) => part.trim() !== "")
    .map((part) => JSON.parse(part));
}

describe("grpcurl on the HTTP port", () => {
  const there = (...what: readonly string[]): Promise<Printed> => {
    const address = new URL(server.url).host;
    const flags = what.slice(0, -1);
    return run(program, ["-plaintext", ...flags, address, what.at(-1) ?? "list"]);
  };

  it("finds the same services, calls them, and asks for health", async () => {
    const { stdout } = await there("list");
    expect(stdout.trim().split("\n")).toEqual(
      expect.arrayContaining([service, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"]),
    );
    const answer = await there("-d", JSON.stringify(say("echo hello")), `${service}/SendMessage`);
    expect(JSON.parse(answer.stdout)).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
    const health = await there("-d", "{}", "grpc.health.v1.Health/Check");
    expect(JSON.parse(health.stdout)).toEqual({ status: "SERVING" });
  });
});

describe("the page's commands for grpcurl", () => {
  it.each(["1.0", "1.1", "0.3"])("work as they are printed: A2A %s", async (protocolVersion) => {
    const own = await createServer({ agent: echo, store: memoryStore(), port: 0, grpcPort: 0, preview: "1.1" });
    const url = `127.0.0.1:${own.grpcPort}`;
    const shown = { protocolBinding: "GRPC", protocolVersion, url, tenant: "" };
    const command = shellCommand(create(AgentInterfaceSchema, shown)) ?? "";
    const { stdout } = await run("sh", ["-c", command.replace(/^grpcurl/, program)]);
    expect(stdout).toContain("heard hello");
    await own.close({ graceMs: 0 });
  });
});

describe("grpcurl", () => {
  it("lists the services", async () => {
    const { stdout } = await grpcurl([], "list");
    expect(stdout.trim().split("\n")).toEqual(
      expect.arrayContaining([service, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"]),
    );
    const methods = await grpcurl([], "list", service);
    expect(methods.stdout.trim().split("\n")).toHaveLength(11);
  });

  it("describes the service with its HTTP rules, a message with its marks, and the details of errors", async () => {
    const described = await grpcurl([], "describe", service);
    expect(described.stdout).toContain("rpc SendMessage ( .lf.a2a.v1.SendMessageRequest )");
    expect(described.stdout).toContain("/{tenant}/message:send");
    const message = await grpcurl([], "describe", "lf.a2a.v1.Message");
    expect(message.stdout).toMatch(/string message_id = 1.*REQUIRED/);
    const info = await grpcurl([], "describe", "google.rpc.ErrorInfo");
    expect(info.stdout).toContain("string reason = 1;");
  });

  it("calls a unary method", async () => {
    const { stdout, code } = await call("SendMessage", say("echo hello"));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      task: { status: { state: "TASK_STATE_COMPLETED" }, artifacts: [{ parts: [{ text: "hello" }] }] },
    });
  });

  it("reads a stream to its end", async () => {
    const { stdout, code } = await call("SendStreamingMessage", say("stream 3 4"));
    expect(code).toBe(0);
    expect(documents(stdout)).toMatchObject([
      { task: { status: { state: "TASK_STATE_SUBMITTED" } } },
      { statusUpdate: { status: { state: "TASK_STATE_WORKING" } } },
      { artifactUpdate: { artifact: { parts: [{ text: "1 .." }] } } },
      { artifactUpdate: { append: true, artifact: { parts: [{ text: "2 .." }] } } },
      { artifactUpdate: { append: true, lastChunk: true, artifact: { parts: [{ text: "3 .." }] } } },
      { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } },
    ]);
  });

  it("shows an error with its details, whose types it learns from the server as well", async () => {
    const { stderr, code } = await call("GetTask", { id: "nobody" }, "-format-error");
    expect(code).toBe(64 + 5);
    expect(JSON.parse(stderr)).toEqual({
      code: 5,
      message: "Task not found: it does not exist or is not accessible.",
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "TASK_NOT_FOUND",
          domain: "a2a-protocol.org",
          metadata: { taskId: "nobody" },
        },
      ],
    });
  });

  it("shows every violation of a request", async () => {
    const { stderr, code } = await call("SendMessage", { message: { role: "ROLE_USER" } }, "-format-error");
    expect(code).toBe(64 + 3);
    const { details } = JSON.parse(stderr) as { details: { fieldViolations?: { field: string }[] }[] };
    const fields = details.flatMap(({ fieldViolations = [] }) => fieldViolations.map(({ field }) => field));
    expect(fields.toSorted()).toEqual(["message.messageId", "message.parts"]);
  });

  it("sees headers and trailers", async () => {
    const { stdout } = await call("ListTasks", {}, "-v", "-H", "x-request-id: from-grpcurl", "-H", "a2a-version: 1.0");
    expect(stdout).toContain("x-request-id: from-grpcurl");
    const refused = await call("ListTasks", {}, "-format-error", "-H", "a2a-version: 7.1");
    expect(JSON.parse(refused.stderr)).toMatchObject({ details: [{ reason: "VERSION_NOT_SUPPORTED" }] });
  });

  it("has its deadline kept", async () => {
    const { stderr, code } = await call("SendMessage", say("wait 20000"), "-max-time", "0.5");
    expect(code).toBe(64 + 4);
    expect(stderr).toContain("DeadlineExceeded");
  });

  it("asks whether the server is well, as a whole and for the service", async () => {
    for (const name of ["", service]) {
      const { stdout } = await grpcurl(["-d", JSON.stringify({ service: name })], "grpc.health.v1.Health/Check");
      expect(JSON.parse(stdout)).toEqual({ status: "SERVING" });
    }
    const unknown = await grpcurl(["-d", '{"service":"nobody"}', "-format-error"], "grpc.health.v1.Health/Check");
    expect(unknown.code).toBe(64 + 5);
  });
});
