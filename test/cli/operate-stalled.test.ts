import { existsSync, statSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { Command } from "commander";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ExportTaskResponseSchema } from "../../gen/parley/admin/v1/admin_pb.js";
import { addOperate } from "../../src/cli/operate/groups.js";
import { add as owners } from "../../src/cli/operate/owners.js";
import { add as push } from "../../src/cli/operate/push.js";
import { add as servers } from "../../src/cli/operate/server.js";
import { add as tasks } from "../../src/cli/operate/tasks.js";
import { processIo } from "../../src/cli/process-io.js";
import { build } from "../e2e/support/build.js";
import { pairs } from "../support/covering.js";
import { sample } from "../support/soak.js";
import { workplaces } from "./cli.js";
import { type Group, runGroup } from "./operate-run.js";

vi.setConfig({ testTimeout: 60_000 });

/** Commands that call a server, with the operands of a call. */
const asking: Readonly<Record<string, readonly string[]>> = {
  "tasks list": [],
  "tasks show": ["t1"],
  "tasks log": ["t1"],
  "tasks watch": [],
  "tasks cancel": ["t1"],
  "tasks fail": ["t1"],
  "tasks delete": ["t1", "--yes"],
  "tasks answer": ["t1", "yes"],
  "tasks export": ["t1"],
  "owners list": [],
  "owners delete": ["alice", "--yes"],
  "push list": [],
  "push show": ["t1", "c1"],
  "push test": ["t1", "c1"],
  "push resend": ["t1", "c1", "3"],
  "push redrive": ["--all", "--yes"],
  "server show": [],
  "server executions": [],
  "server limits": [],
  "server log-level": ["debug"],
  "server drain": [],
  "server backup": ["copy.db"],
  "server audit": [],
};

/** Commands that need an exported file, a closed store file or a terminal. */
const others = ["tasks import", "check", "top"];

/** Functions that add the commands above. */
const groups: Readonly<Record<string, Group>> = { tasks, owners, push, server: servers };

/** Commands that run until they are interrupted. */
const lasting = ["tasks watch"];

/** Commands that read a stream. */
const streaming = [...lasting, "tasks export"];

build();
const place = workplaces();

describe("an operator's service that stalls", () => {
  const started = new Set<Server>();
  const sockets = new Set<Socket>();
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    for (const server of started) server.close();
    started.clear();
  });

  /** Serves a stalling server. @param onStall called when a request has arrived @param begin start of the body */
  async function stalling(
    words: string,
    stage: "headers" | "body",
    onStall: () => void,
    begin: Uint8Array = Buffer.of(0x0a),
  ): Promise<string> {
    const form = streaming.includes(words) ? "connect+proto" : "proto";
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      socket.once("data", () => {
        if (stage === "body") {
          socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/${form}\r\ncontent-length: 900\r\n\r\n`);
          socket.write(begin);
        }
        setTimeout(onStall, 50);
      });
    });
    started.add(server.listen(0, "127.0.0.1"));
    await new Promise((resolve) => server.once("listening", resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("is asked by every command for operators", async () => {
    const program = new Command();
    await addOperate(program, () => true, processIo("1.2.3"));
    const words = program.commands.flatMap((group) =>
      group.commands.length === 0 ? [group.name()] : group.commands.map((each) => `${group.name()} ${each.name()}`),
    );
    expect(words.toSorted()).toEqual([...Object.keys(asking), ...others].toSorted());
  });

  const rows = Object.entries(asking).flatMap(([words, operands], at) =>
    (["headers", "body"] as const).map((stage, other) => ({
      words,
      operands,
      stage,
      signal: (at + other) % 2 === 0 ? ("SIGINT" as const) : ("SIGTERM" as const),
    })),
  );

  // All commands share the code that reads an answer or a stream, so each command is interrupted once.
  const left = sample(rows, ({ words, stage, signal }) => [
    words,
    ...pairs(String(streaming.includes(words)), String(lasting.includes(words)), stage, signal),
  ]);

  it.each(left)("is left by $words at $signal, stalled at the $stage", async ({ words, operands, stage, signal }) => {
    let stop = (): void => {};
    const admin = await stalling(words, stage, () => stop());
    const run = place.run([...words.split(" "), ...operands], { PARLEY_ADMIN: admin });
    stop = () => run.child.kill(signal);
    expect(await run.exited).toBe(lasting.includes(words) ? 0 : signal);
    expect([run.stdout(), run.stderr()]).toEqual(["", ""]);
  });

  it.each(["SIGINT", "SIGTERM"] as const)("leaves no half of an exported file at %s", async (signal) => {
    const message = toBinary(ExportTaskResponseSchema, create(ExportTaskResponseSchema, { lines: "{}\n" }));
    // A message begins with its flags and length.
    const begin = Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]);
    const admin = await stalling("tasks export", "body", () => {}, begin);
    const out = join(place.path, "task.jsonl");
    const run = place.run(["tasks", "export", "t1", "--out", out], { PARLEY_ADMIN: admin });
    await expect.poll(() => existsSync(out) && statSync(out).size, { timeout: 30_000 }).toBe(3);
    run.child.kill(signal);
    expect([await run.exited, run.stdout()]).toEqual([130, ""]);
    expect(run.stderr()).toBe("parley: nothing was exported\n");
    expect(existsSync(out)).toBe(false);
  });

  it("is given up after --timeout", async () => {
    const admin = await stalling("tasks list", "headers", () => {});
    const run = place.run(["tasks", "list", "--timeout", "1"], { PARLEY_ADMIN: admin });
    expect([await run.exited, run.stdout()]).toEqual([3, ""]);
    expect(run.stderr()).toBe("parley: No answer in time. --timeout allows more time\n");
  });

  it("is given up by every command that does not last, within this process", async () => {
    const ending = Object.entries(asking).filter(([words]) => !lasting.includes(words));
    const ends = ending.map(async ([words, operands]) => {
      const [group = "", ...name] = words.split(" ");
      const env = { PARLEY_ADMIN: await stalling(words, "headers", () => {}) };
      const args = [...name, ...operands, "--timeout", "1"];
      return [words, await runGroup(groups[group] as Group, group, args, { env })] as const;
    });
    const expected = { code: 3, stdout: "", stderr: "No answer in time. --timeout allows more time" };
    expect(Object.fromEntries(await Promise.all(ends))).toEqual(
      Object.fromEntries(ending.map(([words]) => [words, expected])),
    );
  });
});
