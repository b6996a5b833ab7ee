import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { endsBlockingSend, isInterrupted, isTerminal, mayFollow } from "../../src/task/state.js";

const states = Object.values(TaskState).filter((state) => typeof state === "number");
const terminal = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED];
const interrupted = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];

describe("the state table", () => {
  it("knows the four terminal and the two interrupted states (SRV-SEND-03, SRV-SEND-09)", () => {
    expect(states.filter(isTerminal).sort()).toEqual([...terminal].sort());
    expect(states.filter(isInterrupted).sort()).toEqual([...interrupted].sort());
    expect(states.filter(endsBlockingSend).sort()).toEqual([...terminal, ...interrupted].sort());
  });

  it("lets nothing follow a terminal state, and SUBMITTED follow nothing", () => {
    fc.assert(
      fc.property(fc.constantFrom(...states), fc.constantFrom(...states), (from, to) => {
        const expected =
          from !== TaskState.UNSPECIFIED &&
          to !== TaskState.UNSPECIFIED &&
          !terminal.includes(from) &&
          to !== TaskState.SUBMITTED;
        expect(mayFollow(from, to)).toBe(expected);
      }),
    );
  });

  it("knows no state that the contract does not", () => {
    fc.assert(fc.property(fc.integer({ min: 9, max: 1000 }), (other) => mayFollow(TaskState.WORKING, other) === false));
  });
});
