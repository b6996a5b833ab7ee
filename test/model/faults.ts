import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { withMethods } from "../engine/wrapped-stores.js";

/** A guard that is left out of a store or of its use, with the scenario that reveals it. */
export interface Fault {
  readonly name: string;
  readonly scenario: string;
  readonly plant: (store: TaskStore) => TaskStore;
  /** Pattern of the violation. */
  readonly shows: RegExp;
  /** Number of deviations of the schedules that find it. */
  readonly deviations: number;
}

export const faults: readonly Fault[] = [
  {
    name: "appends without the check of their lease",
    scenario: "a turn, and its takeover",
    deviations: 2,
    shows: /entries of attempt 1 of turn 1 follow those of attempt 2/,
    plant: (store) => withMethods(store, { append: ({ fence: _, ...request }) => store.append(request) }),
  },
  {
    name: "appends wherever the log ends",
    scenario: "a message that comes to the other process while the turn ends",
    deviations: 1,
    shows: /says that it is entry/,
    plant: (store) =>
      withMethods(store, {
        append: async (request) => {
          const position = (await store.head(request.head))?.position ?? 0;
          if (position === 0 || request.creates) return store.append(request);
          const head = { ...request.head, position: position + request.entries.length };
          return store.append({ ...request, head, expected: position });
        },
      }),
  },
  {
    name: "changes a lease that another process has",
    scenario: "two messages, and their takeover",
    deviations: 2,
    shows: /without its own artifact|follow those of/,
    plant: (store) =>
      withMethods(store, {
        setLease: async (request) => {
          const lease = (await store.head(request))?.lease;
          return store.setLease(lease ? { ...request, fence: lease } : request);
        },
      }),
  },
  {
    name: "releases a lease though a message has come",
    scenario: "a question, and its answer at the other process",
    deviations: 1,
    shows: /still INPUT_REQUIRED/,
    plant: (store) => withMethods(store, { setLease: ({ expected: _, ...request }) => store.setLease(request) }),
  },
  {
    name: "gives a message the lease that the task has already",
    scenario: "a message that comes to the other process while the turn ends",
    deviations: 1,
    shows: /without its own artifact/,
    plant: (store) =>
      withMethods(store, {
        append: async (request) => {
          const before = (await store.head(request.head))?.lease;
          const answer = await store.append(request);
          if (!before || !request.lease) return answer;
          await store.setLease({ taskId: request.head.taskId, fence: before, lease: request.lease });
          return undefined;
        },
      }),
  },
  {
    name: "keeps no idempotency keys",
    scenario: "one idempotency key at both processes",
    deviations: 1,
    shows: /2 tasks exist/,
    plant: (store) => withMethods(store, { append: ({ send: _, ...request }) => store.append(request) }),
  },
  {
    name: "checks an idempotency key only before the append",
    scenario: "one idempotency key at both processes",
    deviations: 1,
    shows: /2 tasks exist/,
    plant: (store) =>
      withMethods(store, {
        append: async ({ send, ...request }) => {
          const known = send && (await store.findSend(send));
          return store.append(known || !send ? request : { ...request, send });
        },
      }),
  },
  {
    name: "takes a lease that is newer than the entries",
    scenario: "a question whose answer waits already",
    deviations: 2,
    shows: /answered by INPUT_REQUIRED of the turn before/,
    plant: (store) =>
      withMethods(store, {
        head: async (request) => {
          const head = await store.head(request);
          return head && { ...head, position: 0 };
        },
      }),
  },
  {
    name: "counts no attempt when it claims a lease",
    scenario: "a turn, and its takeover",
    deviations: 1,
    shows: /two processes stored attempt 1 of turn 1/,
    plant: (store) =>
      withMethods(store, {
        claimLeases: async (request) => {
          const heads = await store.claimLeases(request);
          for (const { taskId, lease } of heads) {
            const same = lease && { ...lease, attempt: lease.attempt - 1 };
            if (lease !== null) await store.setLease({ taskId, fence: lease, lease: same });
          }
          return Promise.all(heads.map(async (head) => (await store.head(head)) ?? head));
        },
      }),
  },
  {
    name: "claims no leases",
    scenario: "a turn, and its takeover",
    deviations: 1,
    shows: /still \w+ after all time/,
    plant: (store) => withMethods(store, { claimLeases: async () => [] }),
  },
  {
    name: "keeps the lease of a task that was canceled",
    scenario: "a cancel at the other process",
    deviations: 1,
    shows: /still WORKING/,
    plant: (store) =>
      withMethods(store, {
        append: (request) => {
          const ends = request.head.state === TaskState.CANCELED;
          return store.append(ends ? { ...request, head: { ...request.head, state: TaskState.WORKING } } : request);
        },
      }),
  },
];
