import { useEffect, useRef, useState } from "react";

/** Work that a person starts and stops. */
interface StoppableRun {
  readonly isRunning: boolean;
  /** Begins the work, and stops what runs. */
  readonly run: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>;
  readonly stop: () => void;
}

/** Runs one piece of work at a time, which ends with the view. */
export function useRun(): StoppableRun {
  const [isRunning, setRunning] = useState(false);
  const abort = useRef<AbortController>(undefined);
  const stop = (): void => abort.current?.abort();
  useEffect(() => () => abort.current?.abort(), []);
  const run = async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    stop();
    const controller = new AbortController();
    abort.current = controller;
    setRunning(true);
    await work(controller.signal);
    if (abort.current === controller) setRunning(false);
  };
  return { isRunning, run, stop };
}
