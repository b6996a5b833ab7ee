import { PushConfigurations, type WebhookCheck } from "../push/configurations.js";
import { ConfigVault } from "../push/secrets.js";
import type { Settings } from "./options.js";

/** What makes and reads push notification configurations; undefined where no notifications are sent. */
export function pushConfigurationsOf({ push, limits }: Settings): PushConfigurations | undefined {
  if (push === undefined) return undefined;
  let made: Promise<WebhookCheck> | undefined;
  const make = async (): Promise<WebhookCheck> => {
    const { TargetGuard } = await import("../push/target/guard.js");
    return new TargetGuard(push, limits);
  };
  const guard = (): Promise<WebhookCheck> => {
    made ??= make();
    return made;
  };
  return new PushConfigurations({ vault: new ConfigVault(push.encryptionKeys ?? []), guard, limits });
}
