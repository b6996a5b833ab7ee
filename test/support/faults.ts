import { afterEach, beforeEach } from "vitest";

/** Exceptions and rejections that a test of this file lets escape to the process. */
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
