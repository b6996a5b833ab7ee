import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess, within } from "./support/server-process.js";
import { resuming, Story, say, settled, stateOf, statusText, taskOf } from "./support/story.js";

const agent = fileURLToPath(new URL("../fixtures/agents/ending.mjs", import.meta.url));

let home: Home;
let server: ServerProcess;
let driver: Driver;

beforeEach(() => {
  home = new Home("--grace", "200ms");
  home.agent = agent;
});

afterEach(async () => {
  driver.close();
  await home.leave();
});

async function start(): Promise<void> {
  server = await home.start();
  driver = (bindings[0] as (typeof bindings)[number]).connect(server);
}

/** Starts a task. Resolves when its agent works. */
async function begin(text: string): Promise<string> {
  const story = new Story();
  void story.follow(driver.stream("SendStreamingMessage", say(text), resuming())).catch(() => {});
  await story.has(1);
  return story.taskId;
}

const over = (): Promise<unknown> => within(40_000, server.exited, () => server.log);

describe("an agent that ends the process", { timeout: 60_000 }, () => {
  it("by process.exit(0) does not make it look like an orderly end, and its task is that of a crash", async () => {
    await start();
    const taskId = await begin("exit 0");
    expect(await over()).toEqual({ code: 1, signal: null });
    expect(server.log).toContain("something in this process ended it with code 0, not the server");
    driver.close();
    await start();
    const task = await settled(driver, taskId);
    expect(stateOf(task)).toBe("TASK_STATE_FAILED");
    expect(statusText(task)).toBe("The agent was stopped by a crash of the server before it finished.");
  });

  it("by another code keeps that code, and says so", async () => {
    await start();
    await begin("exit 7");
    expect(await over()).toEqual({ code: 7, signal: null });
    expect(server.log).toContain("something in this process ended it with code 7");
  });

  it("by an error in a timer ends it with code 1, and its task is run again", async () => {
    await start();
    const taskId = await begin("throw");
    expect(await over()).toEqual({ code: 1, signal: null });
    expect(server.log).toContain("an uncaught error ends the process");
    driver.close();
    await start();
    expect(stateOf(await settled(driver, taskId))).toBe("TASK_STATE_COMPLETED");
  });
});

describe("an agent that keeps the process from ending", { timeout: 90_000 }, () => {
  it("by being deaf to its signal is left behind", async () => {
    await start();
    const taskId = await begin("hold");
    server.signal("SIGTERM");
    expect(await over()).toEqual({ code: 0, signal: null });
    driver.close();
    await start();
    expect(stateOf(await settled(driver, taskId))).toBe("TASK_STATE_COMPLETED");
  });

  it("by blocking its thread is cut short", async () => {
    await start();
    const taskId = await begin("block");
    server.signal("SIGTERM");
    expect(await over()).toEqual({ code: null, signal: "SIGKILL" });
    expect(server.log).toContain("the server did not end in time");
    driver.close();
    await start();
    expect(stateOf(await taskOf(driver, taskId))).toMatch(/WORKING|COMPLETED/);
    expect(stateOf(await settled(driver, taskId))).toBe("TASK_STATE_COMPLETED");
  });
});
