/**
 * What of push notifications needs Node.js, and libraries of its own: loaded by a server that sends them, and by no other. Runtimes
 * without Node.js have none of it.
 */
export interface PushModules {
  guard(): Promise<typeof import("../push/target/guard.js")>;
  dispatcher(): Promise<typeof import("../push/start.js")>;
  rotation(): Promise<typeof import("../push/rotation.js")>;
}

export const pushModules: PushModules = {
  guard: () => import("../push/target/guard.js"),
  dispatcher: () => import("../push/start.js"),
  rotation: () => import("../push/rotation.js"),
};
