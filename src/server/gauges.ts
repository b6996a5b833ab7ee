import { RELEASE } from "../core/release.js";
import type { Engine } from "../engine/engine.js";
import type { PushControl } from "../push/dead-letters.js";
import { countLeases } from "../store/count-leases.js";
import type { TaskStore } from "../store/task-store.js";
import type { Series } from "../telemetry/cells.js";
import { Metrics } from "../telemetry/metrics.js";
import { watchProcess } from "../telemetry/process-gauges.js";
import type { Versions } from "../version/versions.js";
import type { Readiness } from "./health.js";

/** Parts whose state gauges report. */
interface GaugeParts {
  readonly engine: Engine;
  readonly store: TaskStore;
  readonly push: PushControl | undefined;
  readonly lifecycle: { readonly readiness: Readiness };
}

/** Creates the metrics of a server. */
export function newMetrics(versions: Versions): Metrics {
  return new Metrics({ methods: versions.native.grpc.methods, versions: versionNames(versions) });
}

/** Names of the versions that a server serves. */
export function versionNames({ native, others }: Versions): string[] {
  return [native, ...others].map(({ name }) => name);
}

const states: readonly Readiness[] = ["starting", "ready", "unavailable", "draining"];

/** Lets the metrics read the parts of a server, and counts the commits of its store. */
export function watchParts(metrics: Metrics, { engine, store, push, lifecycle }: GaugeParts): void {
  const build = [RELEASE, globalThis.process?.versions?.node ?? "", store.kind];
  metrics.gauge("buildInfo", () => [{ labels: build, value: 1 }]);
  metrics.gauge("ready", () => states.map((state) => one(state, lifecycle.readiness === state ? 1 : 0)));
  metrics.gauge("executionsRunning", () => engine.running);
  metrics.gauge("executionsWaiting", () => engine.queued);
  metrics.gauge("readerLag", () => engine.readerLag);
  metrics.gauge("leases", () => countLeases(store, engine.holder));
  metrics.gauge("storeHealthy", () => (store.health.status.healthy ? 1 : 0));
  // One count serves all gauges of one reading.
  let counted: ReturnType<TaskStore["census"]> | undefined;
  const census = (): ReturnType<TaskStore["census"]> => {
    counted ??= store.census().finally(() => {
      counted = undefined;
    });
    return counted;
  };
  metrics.gauge("storeBytes", async () => (await census()).bytes);
  metrics.gauge("tasksOpen", async () => (await census()).openTasks);
  metrics.gauge("tasksInterrupted", async () => (await census()).interrupted);
  store.onCommit((seconds, writes) => {
    metrics.commitDuration.observe(seconds);
    metrics.storeWrites.add(0, writes);
  });
  watchProcess(metrics);
  if (push === undefined) return;
  metrics.gauge("deliveriesDue", async () => (await census()).due);
  metrics.gauge("deliveriesDead", async () => (await census()).dead);
  metrics.gauge("deliveriesWorking", () => push.status().working);
  metrics.gauge("deliveriesWaiting", () => push.status().waiting);
  metrics.gauge("failingHosts", () => push.status().failingHosts.length);
}

function one(label: string, value: number): Series<number> {
  return { labels: [label], value };
}
