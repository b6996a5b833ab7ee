import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { credentials, Client as GrpcClient, type requestCallback } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { healthService } from "../support/grpc-services.js";
import { expectSoundFile } from "../support/sound-file.js";
import { Disk, type DiskState, noDisk } from "./support/disk.js";
import { Home, type ServerProcess, within } from "./support/server-process.js";
import { resuming, Story, say, stateOf, taskOf } from "./support/story.js";

/** A server reports within two seconds that it is not ready. The timeout allows twice that for a slow machine. */
const soon = { timeout: 4_000, interval: 50 };

let home: Home;
let disk: Disk;
let server: ServerProcess;
let drivers: Driver[];

async function start(...flags: string[]): Promise<void> {
  server = await home.start(...flags);
  drivers = bindings.map((binding) => binding.connect(server));
}

beforeEach(() => {
  home = new Home();
  disk = new Disk(dirname(home.store));
  home.under = disk.under;
});

afterEach(async () => {
  disk.become("well");
  for (const driver of drivers) driver.close();
  await home.leave();
  disk.leave();
});

async function readiness(): Promise<[http: unknown, grpc: unknown, service: unknown]> {
  const response = await fetch(`${server.url}/readyz`);
  const { status } = (await response.json()) as { status: string };
  return [`${response.status} ${status}`, await health(""), await health("lf.a2a.v1.A2AService")];
}

const ready = ["200 ready", "SERVING", "SERVING"];
const unavailable = ["503 unavailable", "NOT_SERVING", "NOT_SERVING"];

function health(service: string): Promise<unknown> {
  const method = healthService.Check;
  const client = new GrpcClient(`localhost:${server.grpcPort}`, credentials.createInsecure());
  return new Promise((resolve) => {
    const answered: requestCallback<object> = (error, answer) => {
      client.close();
      resolve((answer as { status: string } | undefined)?.status ?? error?.code);
    };
    client.makeUnaryRequest(method.path, method.requestSerialize, method.responseDeserialize, { service }, answered);
  });
}

/** Log lines about the store, without those of an ordinary start and end. */
function told(): string[] {
  const lines = server.log.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  return lines.map(({ msg }) => String(msg)).filter((line) => line.includes("task store"));
}

const outOfOrder = "the task store is unavailable: the server is not ready, writes fail";
const wellAgain = "the task store works again";

/** Sends a message with a key. Fails if the answer takes longer than the bound for a store that does not answer. */
async function sendOver(driver: Driver, text: string): Promise<string> {
  const options = resuming({ "Idempotency-Key": `${driver.name} ${text}` });
  const sent = driver.call("SendMessage", say(text, { contextId: driver.name }), options);
  const { message, error } = await within(20_000, sent, () => `A send over ${driver.name} waits.\n${server.log}`);
  return message === undefined ? String(error?.status ?? error?.reason) : stateOf(message.task as JsonObject);
}

async function tasksOf(driver: Driver, contextId = ""): Promise<JsonObject[]> {
  const { message = {} } = await driver.call("ListTasks", { contextId });
  return message.tasks as JsonObject[];
}

const sendEach = (text: string): Promise<string[]> => Promise.all(drivers.map((driver) => sendOver(driver, text)));
const each = (outcome: string): string[] => bindings.map(() => outcome);
const isUnavailable = (outcomes: string[]): void => {
  expect(
    outcomes.every((outcome) => outcome === "UNAVAILABLE"),
    outcomes.join(" "),
  ).toBe(true);
};

describe.skipIf(noDisk !== undefined)(
  `a server whose disk is bad${noDisk === undefined ? "" : `: ${noDisk}`}`,
  {
    timeout: 120_000,
  },
  () => {
    for (const state of ["hang", "fail", "full"] as const satisfies readonly DiskState[]) {
      it(`says so, answers everybody, and goes on when it is well: ${state}`, async () => {
        await start();
        expect(await readiness()).toEqual(ready);
        expect(await sendEach("echo before")).toEqual(each("TASK_STATE_COMPLETED"));
        const [driver] = drivers as [Driver];
        const story = new Story();
        const ended = story.follow(driver.stream("SendStreamingMessage", say("wait 60000"), resuming()));
        await story.has(1);

        disk.become(state);
        const sent = sendEach("wait 10");
        await expect.poll(readiness, soon).toEqual(unavailable);
        isUnavailable(await sent);
        // Later writes fail immediately, and reads still work.
        isUnavailable(await sendEach("wait 10"));
        expect(stateOf(await taskOf(driver, story.taskId))).toBe("TASK_STATE_WORKING");
        const canceled = drivers.map(async (each) => (await each.call("CancelTask", { id: story.taskId })).error);
        for (const error of await Promise.all(canceled))
          expect([error?.status, error?.reason]).toContain("UNAVAILABLE");
        expect(told()).toEqual([outOfOrder]);

        disk.become("well");
        await expect.poll(readiness, { timeout: 20_000 }).toEqual(ready);
        expect(told()).toEqual([outOfOrder, wellAgain]);
        // The repeated sends have the same keys, so each is one task. A task that was stored runs again.
        const again = async (): Promise<string[]> => sendEach("wait 10");
        await expect.poll(again, { timeout: 60_000 }).toEqual(each("TASK_STATE_COMPLETED"));
        for (const each of drivers) {
          expect((await tasksOf(each, each.name)).map(stateOf)).toEqual([
            "TASK_STATE_COMPLETED",
            "TASK_STATE_COMPLETED",
          ]);
        }
        await driver.call("CancelTask", { id: story.taskId });
        expect(await ended).toEqual({ end: true });
        expect(await server.stop()).toEqual({ code: 0, signal: null });
        expectSoundFile(home.store);
      });
    }

    it("ends at SIGTERM within its grace and a little, though the disk hangs", async () => {
      await start("--grace", "500ms");
      expect(await sendEach("echo before")).toEqual(each("TASK_STATE_COMPLETED"));
      disk.become("hang");
      const sent = sendEach("wait 10").catch(() => {});
      const exit = await server.stop();
      // The disk still hangs. The exit has no code, because Node.js waits for all of its threads before it sets one.
      expect(exit).toEqual({ code: null, signal: "SIGTERM" });
      await sent;
      disk.become("well");
      for (const driver of drivers) driver.close();
      await start();
      expect(await sendEach("echo before")).toEqual(each("TASK_STATE_COMPLETED"));
    });

    it("ends at once at the second signal, though the disk hangs", async () => {
      await start();
      disk.become("hang");
      const sent = sendEach("wait 10").catch(() => {});
      await expect.poll(readiness, soon).toEqual(unavailable);
      server.signal("SIGTERM");
      await new Promise((resolve) => setTimeout(resolve, 500));
      server.signal("SIGINT");
      expect(await within(20_000, server.exited, () => server.log)).toMatchObject({ code: null });
      await sent;
    });

    it("ends at SIGTERM though the disk hangs and nothing was ever written", async () => {
      await start("--grace", "500ms");
      disk.become("hang");
      server.signal("SIGTERM");
      await within(20_000, server.exited, () => server.log);
      disk.become("well");
      await start();
      expect(await sendEach("echo after")).toEqual(each("TASK_STATE_COMPLETED"));
    });

    it.each(["full", "fail"] as const)("asks for another start where it cannot create its file: %s", async (state) => {
      drivers = [];
      disk.become(state);
      const starting = home.launch();
      expect(await within(20_000, starting.exited, () => starting.log)).toEqual({ code: 75, signal: null });
      disk.become("well");
      await start();
      expect(await sendEach("echo after")).toEqual(each("TASK_STATE_COMPLETED"));
    });

    it("ends at SIGTERM while it opens its file on a disk that hangs", async () => {
      drivers = [];
      disk.become("hang");
      const starting = home.launch();
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      starting.signal("SIGTERM");
      expect(await within(20_000, starting.exited, () => starting.log)).toMatchObject({ signal: "SIGTERM" });
    });
  },
);

describe("a server whose file is taken away", { timeout: 120_000 }, () => {
  beforeEach(() => {
    home.under = [];
  });

  it("acknowledges nothing more, says so, and ends with the code that asks for a restart", async () => {
    await start();
    const [driver] = drivers as [Driver];
    expect(await sendEach("echo before")).toEqual(each("TASK_STATE_COMPLETED"));
    rmSync(home.store);
    // Sends fail immediately, before the server has detected the loss otherwise.
    for (let i = 0; i < 10; i++) isUnavailable(await sendEach(`echo lost ${i}`));
    await expect.poll(readiness, soon).toEqual(unavailable);
    expect(told()).toEqual([outOfOrder]);
    // Tasks of refused sends may be visible while this process has the file open.
    expect((await tasksOf(driver)).length).toBeGreaterThanOrEqual(drivers.length);
    const exit = await within(60_000, server.exited, () => server.log);
    expect(exit).toEqual({ code: 75, signal: null });
    for (const each of drivers) each.close();
    await start();
    expect(await sendEach("echo after")).toEqual(each("TASK_STATE_COMPLETED"));
  });

  it("goes on when the file comes back", async () => {
    await start();
    expect(await sendEach("echo before")).toEqual(each("TASK_STATE_COMPLETED"));
    renameSync(home.store, `${home.store}-elsewhere`);
    isUnavailable(await sendEach("wait 10"));
    await expect.poll(readiness, soon).toEqual(unavailable);
    renameSync(`${home.store}-elsewhere`, home.store);
    await expect.poll(readiness, { timeout: 20_000 }).toEqual(ready);
    await expect.poll(() => sendEach("wait 10"), { timeout: 60_000 }).toEqual(each("TASK_STATE_COMPLETED"));
    expect(told()).toEqual([outOfOrder, wellAgain]);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expectSoundFile(home.store);
  });
});
