import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { LeaseGuard } from "../../src/push/lease-guard.js";

it("lets any number of requests listen, without a warning of Node.js", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  const leaseMs = 60_000;
  const heartbeatStatus = { epoch: 0, until: performance.now() + leaseMs };
  const guard = new LeaseGuard({ heartbeatStatus, leaseMs }, true);
  onTestFinished(() => guard.end());
  for (let i = 0; i < 20; i++) guard.signal?.addEventListener("abort", () => {}, { once: true });
  // Warnings come a moment later.
  await sleep(10);
  expect(warnings).toEqual([]);
});
