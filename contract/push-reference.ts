import { TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { ClaimedDelivery, DeliveryOutcome, PushConfigKey, TaskHead } from "../src/store/task-store.js";
import { isTerminal } from "../src/task/state.js";

/** The most configurations of a step. */
export interface Limits {
  readonly maxPerTask: number;
  readonly maxPerOwner: number;
  /** Makes no difference within a history, which has one tenant; fails if an earlier history left usage. */
  readonly ofAllTenants: boolean;
}

export interface Config extends PushConfigKey {
  target: string;
  position: number;
  state: "idle" | "due" | "dead";
  at: number;
  attempts: number;
  failingSince: number | undefined;
  failure: string;
  holder: string | undefined;
  claim: number | undefined;
  /** Failures of attempts, newest first. */
  failed: string[];
}

interface Claim extends ClaimedDelivery {
  readonly holder: string;
}

/** The reference model of deliveries that every store has to agree with. */
export class Model {
  readonly heads: Map<string, TaskHead> = new Map();
  readonly configs: Map<string, Config> = new Map();
  readonly claims: Claim[] = [];
  /** Every step has a different time. */
  now = 1_000;
  readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  taskId(task: number): string {
    return `${this.tenant}-${task}`;
  }

  find({ taskId, configId }: PushConfigKey): Config | undefined {
    return this.configs.get(`${taskId} ${configId}`);
  }

  of(taskId: string): Config[] {
    return [...this.configs.values()].filter((config) => config.taskId === taskId);
  }

  isOver(taskId: string): boolean {
    return isTerminal(this.heads.get(taskId)?.state ?? 0);
  }

  tooManyOf(key: PushConfigKey, { maxPerTask, maxPerOwner }: Limits): "task" | "owner" | undefined {
    if (this.find(key) !== undefined) return undefined;
    if (this.of(key.taskId).length >= maxPerTask) return "task";
    if (this.isOver(key.taskId)) return undefined;
    const open = [...this.configs.values()].filter(({ taskId, state }) => state !== "idle" || !this.isOver(taskId));
    return open.length >= maxPerOwner ? "owner" : undefined;
  }

  put(key: PushConfigKey, target: string, position: number): void {
    const known = this.find(key);
    const from = known?.position ?? position;
    const isBehind = from < (this.heads.get(key.taskId)?.position ?? 0);
    this.configs.set(`${key.taskId} ${key.configId}`, {
      ...{ ...key, target, position: from, state: isBehind ? "due" : "idle", at: this.now, attempts: 0 },
      ...{ failingSince: undefined, failure: "", holder: undefined, claim: undefined, failed: [] },
    });
  }

  append(head: TaskHead, ends: boolean): void {
    const state = ends ? TaskState.COMPLETED : head.state;
    const next = { ...head, position: head.position + 1, generation: head.generation + 1, state };
    this.heads.set(head.taskId, next);
    for (const config of this.of(head.taskId)) {
      if (config.state === "idle") Object.assign(config, { state: "due", at: this.now });
    }
  }

  due(): Config[] {
    const free = [...this.configs.values()].filter(({ state, holder }) => state === "due" && holder === undefined);
    return free.sort((a, b) => a.at - b.at);
  }

  /** The configuration of a claim, if the claim is still current. */
  claimed({ holder, claim, ...key }: Claim): Config | undefined {
    const config = this.find(key);
    return config?.holder === holder && config.claim === claim ? config : undefined;
  }

  advance(config: Config, position: number): void {
    if (position > config.position) {
      Object.assign(config, { position, attempts: 0, failingSince: undefined, failure: "" });
    }
  }

  complete(config: Config, outcome: DeliveryOutcome): "more" | "completed" {
    if (outcome.kind === "done") {
      if (config.position < (this.heads.get(config.taskId)?.position ?? 0)) return "more";
      Object.assign(config, { state: "idle", attempts: 0, failingSince: undefined, failure: "" });
    } else {
      const { kind, ...rest } = outcome;
      const { attempt, ...changes } = { attempt: undefined, ...rest };
      Object.assign(config, changes);
      if (attempt !== undefined) config.failed.unshift(config.failure);
      if (kind === "retry") config.attempts++;
      if (kind === "dead") config.state = "dead";
    }
    Object.assign(config, { holder: undefined, claim: undefined });
    return "completed";
  }
}
