import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Driver, Reply } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess, within } from "./support/server-process.js";
import { type Ending, resuming, Story, say, settled, stateOf, statusText, taskOf } from "./support/story.js";

let home: Home;
let server: ServerProcess;
let drivers: Driver[];

beforeEach(async () => {
  home = new Home();
  await startAgain();
});

afterEach(async () => {
  for (const driver of drivers) driver.close();
  await home.leave();
});

async function startAgain(): Promise<void> {
  server = await home.start();
  drivers = bindings.map((binding) => binding.connect(server));
}

/** An open stream with a promise of its end. */
interface Following {
  readonly story: Story;
  readonly ended: Promise<Ending>;
}

/** Starts and follows a task over each binding. Resolves when all agents work. */
async function followEach(text: string): Promise<Following[]> {
  const following = drivers.map((driver) => {
    const story = new Story();
    return { story, ended: story.follow(driver.stream("SendStreamingMessage", say(text), resuming())) };
  });
  await Promise.all(following.map(({ story }) => story.has(1)));
  return following;
}

/** Sends a blocking message over each binding. Resolves when all agents work. */
async function sendEach(text: string): Promise<Promise<Reply>[]> {
  const replies = drivers.map((driver) => driver.call("SendMessage", say(text, { contextId: "sent" }), resuming()));
  for (const reply of replies) reply.catch(() => {});
  const [driver] = drivers as [Driver];
  for (let size: unknown = 0; size !== drivers.length; ) {
    const { message } = await driver.call("ListTasks", { contextId: "sent", status: "TASK_STATE_WORKING" });
    size = message?.totalSize;
  }
  return replies;
}

describe("a server that is asked to end", { timeout: 60_000 }, () => {
  it("ends streams with UNAVAILABLE, lets agents finish, and exits with 0", async () => {
    const following = await followEach("wait 5000");
    const replies = await sendEach("wait 5000");
    const exit = await server.stop();
    expect(exit).toEqual({ code: 0, signal: null });
    for (const [i, { ended }] of following.entries()) {
      expect(await ended, drivers[i]?.name).toEqual({ status: "UNAVAILABLE" });
    }
    for (const reply of replies) {
      const { message } = await reply;
      expect(stateOf(message?.task as JsonObject)).toBe("TASK_STATE_COMPLETED");
    }
    await startAgain();
    for (const [i, { story }] of following.entries()) {
      const driver = drivers[i] as Driver;
      expect(stateOf(await taskOf(driver, story.taskId))).toBe("TASK_STATE_COMPLETED");
      const parameter = { "Parley-After-Generation": `${story.generation}` };
      const rest = driver.stream("SubscribeToTask", { id: story.taskId }, resuming(parameter));
      expect(await story.follow(rest)).toEqual({ end: true });
      expect([...story.events.keys()]).toEqual([2, 3]);
    }
  });

  it("is alive but not ready, and refuses calls, while agents finish", async () => {
    await followEach("wait 5000");
    expect(await healthOf("readyz")).toEqual([200, { status: "ready" }]);
    server.signal("SIGTERM");
    await expect.poll(() => healthOf("readyz"), { timeout: 5_000 }).toEqual([503, { status: "draining" }]);
    expect(await healthOf("healthz")).toEqual([200, { status: "ok" }]);
    for (const driver of drivers) {
      const { error } = await driver.call("ListTasks", {});
      const refused = driver.name === "jsonrpc" ? error?.reason : error?.status;
      expect(refused, driver.name).toBe("UNAVAILABLE");
    }
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  it("stops what is not done after its grace, to be run again or failed as its agent says", async () => {
    const again = await followEach("wait 60000");
    const failed = await followEach("stream 2000 4 50");
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    await startAgain();
    for (const [i, driver] of drivers.entries()) {
      const stopped = await taskOf(driver, failed[i]?.story.taskId ?? "");
      expect(stateOf(stopped)).toBe("TASK_STATE_FAILED");
      expect(statusText(stopped)).toBe("The server was shut down before the agent finished.");
      const id = again[i]?.story.taskId ?? "";
      const restarted = await taskOf(driver, id, { "Parley-After-Generation": "2", "Parley-Wait": "10" });
      // An orderly shutdown does not count as a failure, but the agent sees the next attempt number.
      const said = [stateOf(restarted), statusText(restarted)];
      expect(said).toEqual(["TASK_STATE_WORKING", "Waiting again: attempt 2."]);
      await driver.call("CancelTask", { id });
    }
  });

  it("ends at once at the second signal, and the next start has everything", async () => {
    const following = await followEach("wait 60000");
    const [paused] = await followEach("ask Which colour?");
    server.signal("SIGTERM");
    // Further signals within this time count as the same key press.
    await new Promise((resolve) => setTimeout(resolve, 500));
    server.signal("SIGTERM");
    const exit = await within(5_000, server.exited, () => "The server does not end.");
    expect(exit).toEqual({ code: null, signal: "SIGTERM" });
    await startAgain();
    for (const [i, { story }] of following.entries()) {
      const driver = drivers[i] as Driver;
      const parameter = { "Parley-After-Generation": "2", "Parley-Wait": "10" };
      const task = await taskOf(driver, story.taskId, parameter);
      expect(JSON.stringify(task.status)).toContain("Waiting again: attempt 2.");
      const { message } = await driver.call("CancelTask", { id: story.taskId });
      expect(stateOf(message ?? {})).toBe("TASK_STATE_CANCELED");
    }
    const driver = drivers[0] as Driver;
    expect(stateOf(await settled(driver, paused?.story.taskId ?? ""))).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  it("ends in the same way at SIGINT", async () => {
    await followEach("ask Which colour?");
    server.signal("SIGINT");
    expect(await within(10_000, server.exited, () => server.log)).toEqual({ code: 0, signal: null });
  });
});

/** The answer to an orchestrator. */
async function healthOf(path: string): Promise<[number, unknown]> {
  const response = await fetch(`${server.url}/${path}`);
  return [response.status, await response.json()];
}
