import {
  Bot,
  HeartPulse,
  History,
  Inbox,
  ListTree,
  type LucideIcon,
  MessageSquare,
  MessagesSquare,
  ScrollText,
  Send,
  Users,
  Webhook,
} from "lucide-react";
import { words } from "../texts/words.js";

/** A page in the navigation, with the second key of its shortcut after `g`. */
export interface NavigationItem {
  readonly to: string;
  readonly name: string;
  readonly icon: LucideIcon;
  readonly key: string;
}

/** Pages for everybody. */
export const talkItems: readonly NavigationItem[] = [
  { to: "/agents", name: words.agents, icon: Bot, key: "a" },
  { to: "/talk", name: words.talks, icon: MessageSquare, key: "m" },
  { to: "/recording", name: words.replay, icon: History, key: "r" },
  { to: "/receiver", name: words.receiver, icon: Webhook, key: "n" },
];

/** Pages of operators. */
export const operateItems: readonly NavigationItem[] = [
  { to: "/operate/tasks", name: words.tasks, icon: ListTree, key: "t" },
  { to: "/operate/inbox", name: words.inbox, icon: Inbox, key: "i" },
  { to: "/operate/conversations", name: words.conversations, icon: MessagesSquare, key: "c" },
  { to: "/operate/deliveries", name: words.deliveries, icon: Send, key: "d" },
  { to: "/operate/owners", name: words.owners, icon: Users, key: "o" },
  { to: "/operate/server", name: words.server, icon: HeartPulse, key: "s" },
  { to: "/operate/audit", name: words.audit, icon: ScrollText, key: "u" },
];
