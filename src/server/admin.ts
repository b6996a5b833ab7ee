import type { AdminParts } from "../admin/parts.js";
import { createAdminInvoke } from "../admin/service.js";
import type { Engine } from "../engine/engine.js";
import type { PushControl } from "../push/dead-letters.js";
import type { Invoke } from "../service/invoke.js";
import type { Lifecycle } from "./lifecycle.js";
import type { Settings } from "./options.js";

/** Parts of the server that its operators see. */
interface AdminComponents {
  readonly engine: Engine;
  readonly lifecycle: Lifecycle;
  readonly push: PushControl | undefined;
}

/** Creates the operator's service of a server. */
export function composeAdmin(settings: Settings, { engine, lifecycle, push }: AdminComponents): Invoke {
  const { store, agents, limits, logger, audit } = settings;
  const parts: AdminParts = { store, engine, agents, lifecycle, limits, logger, audit, push, backupFolder: undefined };
  return createAdminInvoke(parts);
}
