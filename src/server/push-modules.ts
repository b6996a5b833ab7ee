/**
 * The parts of push notifications that need Node.js and its libraries, loaded by a server that sends notifications. The
 * file is apart from `push-delivery.ts`, which runtimes without Node.js import too.
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
