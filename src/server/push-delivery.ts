import { lazyImport } from "../core/lazy.js";
import type { Engine } from "../engine/engine.js";
import { PushConfigurations, type WebhookCheck } from "../push/configurations.js";
import { createPushControl, type PushControl } from "../push/dead-letters.js";
import type { Dispatcher } from "../push/dispatcher.js";
import { createPushOperations, type PushOperations } from "../push/operations.js";
import type { PushOptions } from "../push/options.js";
import { ConfigVault } from "../push/secrets.js";
import type { PushSigner } from "../push/signature/signer.js";
import type { Tracing } from "../telemetry/tracing.js";
import { pushDialects } from "../version/load.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import type { Settings } from "./options.js";
import type { PushModules } from "./push-modules.js";

interface PushParts {
  readonly engine: Engine;
  readonly signer: () => Promise<PushSigner>;
  /** See `DispatcherOptions`. */
  readonly agentName: (tenant: string) => string | undefined;
  readonly modules: PushModules;
  /** Creates spans of attempts. */
  readonly tracing: Tracing;
}

/** Delivers the push notifications of a server, from its start to its end. */
export class PushDelivery {
  readonly control: PushControl;
  /** Operations for the operator's service. */
  readonly operations: PushOperations;
  readonly #settings: Settings;
  readonly #options: PushOptions;
  readonly #parts: PushParts;
  #dispatcher: Dispatcher | undefined;
  #isOver = false;

  constructor(settings: Settings, options: PushOptions, parts: PushParts) {
    this.#settings = settings;
    this.#options = options;
    this.#parts = parts;
    this.operations = createPushOperations(() => this.#dispatcher, { ...settings, agentName: parts.agentName });
    this.control = createPushControl(this.operations, () => this.#dispatcher, settings);
  }

  /** Begins to deliver. The engine has to write the first heartbeat of this process before. */
  async start(): Promise<void> {
    const { store, limits, logger, audit, metrics } = this.#settings;
    const { engine, agentName, modules, signer: signing, tracing } = this.#parts;
    // A server that sends no notifications loads neither this code nor its libraries.
    const [{ createDispatcher }, { encryptStored }, signer] = await Promise.all([
      modules.dispatcher(),
      modules.rotation(),
      signing(),
    ]);
    if (this.#isOver) return;
    const nativeHeaders = { "a2a-version": PROTOCOL_VERSION };
    const headers = { "user-agent": "parley" };
    const { pushes } = engine;
    this.#dispatcher = createDispatcher({
      options: this.#options,
      store,
      pushes,
      signer,
      headers,
      nativeHeaders,
      dialectOf: pushDialects(this.#settings.versions),
      limits,
      logger,
      audit,
      agentName,
      tracing,
      metrics,
    });
    this.#dispatcher.start();
    for (const key of signer.jwks().keys) {
      audit?.record({ event: "key.used", use: "push", key: (key as { readonly kid?: string }).kid });
    }
    // Runs in the background, because stored secrets stay readable with their older keys.
    const vault = new ConfigVault(this.#options.encryptionKeys ?? []);
    void encryptStored({ store, vault, logger, audit, isOver: () => this.#isOver });
  }

  async drain(graceMs: number): Promise<void> {
    this.#isOver = true;
    await this.#dispatcher?.drain(graceMs);
  }

  abandon(): void {
    this.#isOver = true;
    this.#dispatcher?.abandon();
  }
}

/** Returns the part that creates and reads push notification configurations; undefined if no notifications are sent. */
export function pushConfigurationsOf(
  { push, limits }: Settings,
  modules: PushModules | undefined,
): PushConfigurations | undefined {
  if (push === undefined || modules === undefined) return undefined;
  const guard = lazyImport(async (): Promise<WebhookCheck> => new (await modules.guard()).TargetGuard(push));
  return new PushConfigurations({ vault: new ConfigVault(push.encryptionKeys ?? []), guard, limits });
}
