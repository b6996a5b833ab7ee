import { useEffect, useSyncExternalStore } from "react";
import { apiUrl } from "../../api/base.js";
import { ownFetch } from "../../api/own-fetch.js";
import { useVisible } from "../shared/visible.js";
import { type Sample, sampleOf } from "./samples.js";

/** Milliseconds between readings, and for which they are kept. */
const EVERY = 5_000;
const KEPT = 30 * 60_000;

/** State of the metrics. */
export interface MetricsState {
  readonly samples: readonly Sample[];
  /** True if the server serves none. */
  readonly isOff: boolean;
  /** Error of the last reading. */
  readonly error: Error | undefined;
}

let state: MetricsState = { samples: [], isOff: false, error: undefined };
const listeners = new Set<() => void>();

function tell(changed: Partial<MetricsState>): void {
  state = { ...state, ...changed };
  for (const listener of listeners) listener();
}

async function read(signal: AbortSignal): Promise<void> {
  try {
    const answer = await ownFetch(apiUrl("admin/metrics"), { signal, headers: { accept: "text/plain" } });
    if (answer.status === 404) return tell({ isOff: true, error: undefined });
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`.trim());
    const sample = sampleOf(await answer.text(), Date.now());
    const samples = [...state.samples.filter(({ at }) => at > sample.at - KEPT), sample];
    tell({ samples, isOff: false, error: undefined });
  } catch (error) {
    if (!signal.aborted) tell({ error: error instanceof Error ? error : new Error(String(error)) });
  }
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The metrics of the server, read while the page is in view. They are kept while other pages are shown. */
export function useMetrics(): MetricsState {
  const isVisible = useVisible();
  useEffect(() => {
    if (!isVisible) return;
    const stop = new AbortController();
    void read(stop.signal);
    const timer = setInterval(() => void read(stop.signal), EVERY);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [isVisible]);
  return useSyncExternalStore(subscribe, () => state);
}
