import { useEffect, useRef, useState } from "react";
import { compareAnswers } from "../../../src/examine/recording/compare.js";
import type { Recording } from "../../../src/examine/recording/format.js";
import { type ReplayedTurn, replay } from "../../../src/examine/recording/replay.js";
import { loginOptionsFor } from "../agents/credentials.js";
import { connectTo } from "../api/agents.js";
import { speechNamed } from "../talk/speech.js";
import { cleanFor } from "./source.js";

/** Ways to compare. */
export type Comparison = "exact" | "shape";

/** A turn that was sent again. */
export interface Result {
  readonly tookMs: number;
  /** Lines that differ, with those around them; empty if the answer is the same. */
  readonly differences: Readonly<Record<Comparison, readonly string[]>>;
}

/** State of a replay. */
export interface ReplayState {
  readonly phase: "idle" | "running" | "done" | "stopped" | "failed";
  /** Index of the turn that was sent last. */
  readonly at: number;
  /** One for each answered turn. */
  readonly results: readonly Result[];
  /** Ids of the exchanges with which the turns began. */
  readonly exchanges: readonly (number | undefined)[];
  readonly error: unknown;
}

const idle: ReplayState = { phase: "idle", at: -1, results: [], exchanges: [], error: undefined };

/** Agent and way to speak of a replay. */
export interface Target {
  readonly agent: string;
  readonly speech: string | undefined;
}

/** Replays a recording, until it is stopped or the page is left. */
export function useReplay(recording: Recording) {
  const [state, setState] = useState<ReplayState>(idle);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const start = async (target: Target): Promise<void> => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const set = (change: (before: ReplayState) => Partial<ReplayState>): void => {
      if (running.current === controller) setState((before) => ({ ...before, ...change(before) }));
    };
    setState({ ...idle, phase: "running" });
    try {
      await run(recording, target, controller.signal, set);
      set(() => ({ phase: "done" }));
    } catch (error) {
      set(() => (controller.signal.aborted ? { phase: "stopped" } : { phase: "failed", error }));
    }
  };
  return { state, start, stop: () => running.current?.abort() };
}

async function run(
  recording: Recording,
  { agent, speech }: Target,
  signal: AbortSignal,
  set: (change: (before: ReplayState) => Partial<ReplayState>) => void,
): Promise<void> {
  const chosen = speechNamed(speech);
  let isNew = false;
  const client = await connectTo(agent, {
    ...loginOptionsFor(agent),
    ...(chosen !== undefined && { bindings: [chosen.binding], version: chosen.version }),
    signal,
    onExchange: (id) => {
      // Those that follow resume the stream of the first.
      if (isNew) set(({ exchanges }) => ({ exchanges: [...exchanges, id] }));
      isNew = false;
    },
  });
  const onTurn = (at: number): void => {
    isNew = true;
    // A turn that failed before it was sent has no exchange.
    set(({ exchanges }) => ({ at, exchanges: Array.from({ length: at }, (_, each) => exchanges[each]) }));
  };
  try {
    for await (const turn of replay(client, recording, { signal, onTurn })) {
      const result = resultOf(recording, turn, agent);
      set(({ results }) => ({ results: [...results, result] }));
    }
  } finally {
    await client.close();
  }
}

function resultOf({ turns }: Recording, { at, answer, tookMs }: ReplayedTurn, agent: string): Result {
  const before = turns[at]?.answer ?? answer;
  const clean = cleanFor(agent);
  const differences = {
    exact: compareAnswers(before, answer, { isShape: false, clean }),
    shape: compareAnswers(before, answer, { isShape: true, clean }),
  };
  return { tookMs, differences };
}
