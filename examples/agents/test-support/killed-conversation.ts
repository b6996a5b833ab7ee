import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../../../test/e2e/support/build.js";
import type { OfflineModel } from "../offline-model/server.js";
import type { Program } from "./killed-program.js";

/** A moment at which a process kills itself: before or after so many of its writes. */
export interface Moment {
  readonly when: "after" | "before";
  readonly count: number;
}

/** A step whose result is stored. */
export interface StoredStep {
  /** Number of its task in the conversation, from 0. */
  readonly task: number;
  readonly name: string;
  /** Number of the turn among those of its task with steps, from 0. */
  readonly turn: number;
  readonly call: number;
}

/** A process that was killed. */
export interface Kill extends Moment {
  /** Requests that the model had received by then. */
  readonly asked: number;
  /** Answers of the model that were stored by then. */
  readonly answered: number;
}

/** A task as it has ended, without what differs from run to run. */
export interface EndedTask {
  readonly state: string;
  readonly text: string;
  /** Artifacts in order, with their parts joined. */
  readonly artifacts: readonly { readonly name: string; readonly text: string }[];
  /** Texts of the agent on the way, each once: progress may be reported again by a turn that runs again. */
  readonly progress: readonly string[];
}

/** The result of a conversation. */
export interface Conversation {
  readonly tasks: readonly EndedTask[];
  readonly steps: readonly StoredStep[];
  /** Writes to the logs. */
  readonly appends: number;
  /** Requests that the model has received. */
  readonly requests: number;
  readonly kills: readonly Kill[];
}

/** True for a step that calls the model; agents name them so. */
export const isModelStep = ({ name }: { readonly name: string }): boolean => name.startsWith("model");

interface Options {
  readonly program: Program;
  readonly says: readonly string[];
  readonly model: OfflineModel;
  /** When the first process is killed, the second one, and so on; further ones are not. */
  readonly moments: readonly Moment[];
}

/** Has a conversation with an agent in a process of its own, whose successor continues when it is killed. */
export async function converse({ program, says, model, moments }: Options): Promise<Conversation> {
  const folder = mkdtempSync(join(tmpdir(), "parley-agents-"));
  const host = new Host({ program, file: join(folder, "tasks.db"), model, moments });
  try {
    const contextId = randomUUID();
    const ids: string[] = [];
    let waiting: Task | undefined;
    for (const text of says) {
      const taskId = await host.say({ text, contextId, taskId: waiting?.id });
      if (!ids.includes(taskId)) ids.push(taskId);
      const task = await host.settled(taskId, waiting);
      waiting = task.status.state === "TASK_STATE_INPUT_REQUIRED" ? task : undefined;
    }
    const tasks = await Promise.all(ids.map((id) => host.settled(id)));
    const { appends, kills, requests } = host;
    const steps = host.steps.map(({ taskId, ...step }) => {
      // Progress that is reported again moves the position of the next message.
      const earlier = host.steps.filter((each) => each.taskId === taskId && each.turn < step.turn);
      return { ...step, turn: new Set(earlier.map(({ turn }) => turn)).size, task: ids.indexOf(taskId) };
    });
    return { tasks: tasks.map(endedOf), steps, appends, requests, kills };
  } finally {
    await host.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Message {
  readonly role: string;
  readonly messageId: string;
  readonly parts: readonly { readonly text?: string }[];
}

interface Task {
  readonly id: string;
  readonly status: { readonly state: string; readonly timestamp: string; readonly message?: Message };
  readonly artifacts?: readonly { readonly name?: string; readonly parts: Message["parts"] }[];
  readonly history?: readonly Message[];
}

function endedOf({ status, artifacts = [], history = [] }: Task): EndedTask {
  const agents = history.filter(({ role }) => role === "ROLE_AGENT").map(({ parts }) => textOf(parts));
  return {
    state: status.state,
    text: textOf(status.message?.parts ?? []),
    artifacts: artifacts.map(({ name = "", parts }) => ({ name, text: textOf(parts) })),
    progress: [...new Set(agents)],
  };
}

const textOf = (parts: Message["parts"]): string => parts.map(({ text = "" }) => text).join("");

/** A line that a process prints: its address, or one write. */
type Line = { readonly url: string } | { readonly taskId: string; readonly steps: readonly Omit<StoredStep, "task">[] };

/** The agent's processes, one after the other on one file. */
class Host {
  appends = 0;
  readonly steps: (Omit<StoredStep, "task"> & { readonly taskId: string })[] = [];
  readonly kills: Kill[] = [];
  readonly #options: Omit<Options, "says"> & { readonly file: string };
  readonly #before: number;
  #moments: readonly Moment[];
  #child: ChildProcess | undefined;
  #url: string | undefined;

  constructor(options: Omit<Options, "says"> & { readonly file: string }) {
    this.#options = options;
    this.#moments = options.moments;
    this.#before = options.model.requests.length;
  }

  get requests(): number {
    return this.#options.model.requests.length - this.#before;
  }

  /** Sends a message until it is stored, and returns the id of its task. */
  async say(said: { text: string; contextId: string; taskId: string | undefined }): Promise<string> {
    const { text, contextId, taskId } = said;
    const messageId = randomUUID();
    const message = { messageId, contextId, taskId, role: "ROLE_USER", parts: [{ text }] };
    const body = JSON.stringify({ message, configuration: { returnImmediately: true } });
    for (;;) {
      const sent = await this.#call<{ task: Task }>("/message:send", { method: "POST", body });
      if (sent !== undefined) return sent.task.id;
      // The process has ended: the message may have been stored before.
      const { tasks = [] } = await this.#read<{ tasks?: Task[] }>(`/tasks?contextId=${contextId}&historyLength=100`);
      const stored = tasks.find(({ history = [] }) => history.some((earlier) => earlier.messageId === messageId));
      if (stored !== undefined) return stored.id;
    }
  }

  /** Waits until a task has ended or waits for its user, by another status than the one that a message has answered. */
  async settled(id: string, answered?: Task): Promise<Task> {
    for (;;) {
      const task = await this.#read<Task>(`/tasks/${id}?historyLength=100`);
      const { state, timestamp } = task.status;
      if (!/SUBMITTED|WORKING/.test(state) && timestamp !== answered?.status.timestamp) return task;
      await sleep(20);
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async #read<T>(path: string): Promise<T> {
    for (;;) {
      const answer = await this.#call<T>(path);
      if (answer !== undefined) return answer;
    }
  }

  /** Calls the running process; undefined if it ends meanwhile. */
  async #call<T>(path: string, init: RequestInit = {}): Promise<T | undefined> {
    this.#url ??= await this.#start();
    const url = this.#url;
    if (url === undefined) return undefined;
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${url}${path}`, { ...init, headers });
      text = await response.text();
    } catch {
      await this.#ended();
      return undefined;
    }
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** Starts the next process and returns its URL; undefined if it ends before it listens. */
  async #start(): Promise<string | undefined> {
    const { program, file, model } = this.#options;
    const [moment, ...later] = this.#moments;
    const args = [
      "--preserve-symlinks",
      program.main,
      program.module,
      file,
      moment?.when ?? "never",
      String(moment?.count ?? 0),
    ];
    const { PARLEY_TESTS: _, ...env } = process.env;
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...env, OPENAI_BASE_URL: model.baseURL, OPENAI_API_KEY: "offline", OPENAI_MODEL: "offline" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let log = "";
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      log += chunk;
    });
    const url = await new Promise<string | undefined>((resolve, reject) => {
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (text) => {
        const line = JSON.parse(text) as Line;
        if ("url" in line) return resolve(line.url);
        this.appends++;
        this.steps.push(...line.steps.map((step) => ({ ...step, taskId: line.taskId })));
      });
      child.once("close", (code, signal) => {
        if (signal !== "SIGKILL") reject(new Error(`The agent's process ended with ${code}:\n${log}`));
        else resolve(undefined);
      });
    });
    if (moment !== undefined) this.#moments = later;
    this.#moment = moment;
    if (url === undefined) await this.#ended();
    return url;
  }

  #moment: Moment | undefined;

  /** Waits for the end of the process, and notes what was stored and asked by then. */
  async #ended(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.stdout?.closed !== true) await once(child, "close");
    // A request that the process has sent at its end arrives.
    await sleep(30);
    this.#url = undefined;
    if (this.#moment === undefined) throw new Error("The agent's process has ended by itself.");
    const answered = this.steps.filter(isModelStep).length;
    this.kills.push({ ...this.#moment, asked: this.requests, answered });
    this.#moment = undefined;
  }
}
