import { Code, ConnectError } from "@connectrpc/connect";
import { useEffect, useRef, useState } from "react";
import { pause } from "../../../../src/core/async.js";
import { sentenceOf } from "../../ui/error.js";

/** State of a stream that is opened again after each cut. */
export type FollowState =
  | { readonly is: "live" }
  | { readonly is: "ended" }
  | { readonly is: "paused" }
  | { readonly is: "reconnecting"; readonly reason: string };

/** Waits before the stream is opened again, in milliseconds. */
const FIRST_WAIT = 500;
const MAX_WAIT = 10_000;

/** Errors after which another try has the same answer. */
const finalCodes: ReadonlySet<Code> = new Set([Code.NotFound, Code.PermissionDenied, Code.InvalidArgument]);

interface Follow {
  /** False pauses. */
  readonly isOn: boolean;
  /** A stream of another key is another stream. */
  readonly key: string;
  /** Reads the stream. Resolves when it has ended as it should. */
  readonly read: (signal: AbortSignal) => Promise<"ended" | "cut">;
  /** Reads what the stream may have missed, beside each stream that is opened. */
  readonly catchUp?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** Follows a stream and opens it again after a cut. */
export function useFollow({ isOn, key, read, catchUp }: Follow): FollowState {
  const [state, setState] = useState<FollowState>({ is: isOn ? "live" : "paused" });
  const calls = useRef({ read, catchUp });
  useEffect(() => {
    calls.current = { read, catchUp };
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another key is another stream.
  useEffect(() => {
    if (!isOn) {
      setState({ is: "paused" });
      return;
    }
    const stop = new AbortController();
    void followed(() => calls.current, setState, stop.signal);
    return () => stop.abort();
  }, [isOn, key]);
  return state;
}

async function followed(
  calls: () => Pick<Follow, "read" | "catchUp">,
  tell: (state: FollowState) => void,
  stop: AbortSignal,
): Promise<void> {
  for (let wait = FIRST_WAIT; !stop.aborted; wait = Math.min(wait * 2, MAX_WAIT)) {
    const opened = Date.now();
    const attempt = new AbortController();
    const signal = AbortSignal.any([stop, attempt.signal]);
    try {
      const reading = calls().read(signal);
      // Both fail together if the server is gone.
      reading.catch(() => {});
      await calls().catchUp?.(signal);
      if (stop.aborted) return;
      tell({ is: "live" });
      if ((await reading) === "ended") return tell({ is: "ended" });
      if (!stop.aborted) tell({ is: "reconnecting", reason: "" });
    } catch (error) {
      attempt.abort();
      if (stop.aborted) return;
      tell({ is: "reconnecting", reason: sentenceOf(error) });
      if (error instanceof ConnectError && finalCodes.has(error.code)) return;
    }
    if (Date.now() - opened > MAX_WAIT) wait = FIRST_WAIT;
    await pause(wait, stop);
  }
}
