import { afterEach, beforeEach } from "vitest";

/** What a test of this file lets escape to the process: an exception or a rejection that nobody catches. */
export function uncaughtFaults(): readonly unknown[] {
  const faults: unknown[] = [];
  const note = (error: unknown): void => void faults.push(error);
  beforeEach(() => {
    faults.length = 0;
    process.on("uncaughtException", note).on("unhandledRejection", note);
  });
  afterEach(() => void process.off("uncaughtException", note).off("unhandledRejection", note));
  return faults;
}
