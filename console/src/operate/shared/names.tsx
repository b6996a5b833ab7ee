import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { operateWords } from "../../texts/operate.js";
import { css } from "../../ui/parts.js";
import { textOfName } from "../tasks/filter.js";
import look from "./shared.module.css";

/** The name of an owner, or a word for anonymous callers. */
export function OwnerName({ owner }: { readonly owner: string }): ReactNode {
  return owner === "" ? <span className={css.soft}>{operateWords.anonymous}</span> : <span title={owner}>{owner}</span>;
}

/** The name of a tenant, or a word for the default one. */
export function TenantName({ tenant }: { readonly tenant: string }): ReactNode {
  return tenant === "" ? (
    <span className={css.soft}>{operateWords.defaultTenant}</span>
  ) : (
    <span title={tenant}>{tenant}</span>
  );
}

/** A link to a task, by its id. */
export function TaskLink({ id, children }: { readonly id: string; readonly children?: ReactNode }): ReactNode {
  return (
    <Link to="/operate/tasks/$taskId" params={{ taskId: id }} className={`${look.link} ${css.mono}`} title={id}>
      {children ?? id}
    </Link>
  );
}

interface ConversationLinkProps {
  readonly context: string;
  readonly owner: string;
  readonly tenant: string;
  readonly children?: ReactNode;
}

/** A link to a conversation. Its id is unique within an owner of a tenant only. */
export function ConversationLink({ context, owner, tenant, children }: ConversationLinkProps): ReactNode {
  return (
    <Link
      to="/operate/conversations/$contextId"
      params={{ contextId: context }}
      search={{ owner: textOfName(owner), tenant: textOfName(tenant) }}
      className={look.link}
      title={context}
    >
      {children ?? context}
    </Link>
  );
}
