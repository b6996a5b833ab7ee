import { PROTOCOL_VERSION } from "../version/v1.js";

/**
 * Media types that files of an answer keep as blobs. An opened blob has the page's origin, so types that could run code
 * there, such as HTML and SVG, become `application/octet-stream`, which browsers save.
 */
const shownTypes =
  "/^(image\\/(png|jpeg|gif|webp|avif)|(audio|video)\\/[\\w.+-]+|text\\/(plain|csv|markdown)|application\\/(json|pdf|zip))$/";

/**
 * Maximum length of a conversation's JSON that a tab keeps for a reload, in characters; the oldest turns are dropped
 * first.
 */
const KEPT_TALK = 256 * 1024;

/**
 * Maximum length of a file's base64 that is kept for a reload, in characters; of a larger file only the name is kept.
 */
const KEPT_FILE = 64 * 1024;

/**
 * The script of the page, as sent: it sends a message over HTTP+JSON, reads the response stream, continues the task if
 * the agent asks for input, and copies commands. It loads nothing. It keeps one conversation per agent in
 * `sessionStorage`, and resubscribes to the task after a reload. Credentials are not kept.
 */
export const script: string = `"use strict";
const $=(id)=>document.getElementById(id);
const form=$("send"),talk=$("talk"),sendButton=$("go"),cancelButton=$("cancel"),newButton=$("new"),raw=$("raw"),log=$("log"),now=$("now");
const base=form.dataset.base,streams=form.dataset.streams==="yes",place="parley:"+base;
let taskId="",contextId="",heard={},answered="",items=[],abort;
const make=(tag,className,text)=>{const node=document.createElement(tag);if(className)node.className=className;if(text!==undefined)node.textContent=text;return node};
const line=(className)=>{const item=make("li",className);talk.append(item);return item};
const safeName=(name)=>name.replace(/[\\p{C}<>:"/\\\\|?*]/gu,"_").replace(/^\\.+|[. ]+$/g,"").slice(-120);
const fileOf=(part)=>{const name=safeName(part.filename||"")||"file",about=part.mediaType?" ("+part.mediaType+")":"",node=make("p","soft");
 const link=(href,text)=>{const anchor=make("a","",text);anchor.href=href;node.append(anchor);return anchor};
 if(part.url!==undefined){const shown=part.filename?name+": "+part.url:part.url;
  if(/^https?:/i.test(part.url)&&URL.canParse(part.url)){const anchor=link(new URL(part.url).href,shown);anchor.rel="noreferrer";anchor.target="_blank"}else node.append(shown)}
 else{const bytes=bytesOf(part.raw);
  if(bytes)link(URL.createObjectURL(new Blob([bytes],{type:${shownTypes}.test(part.mediaType)?part.mediaType:"application/octet-stream"})),name).download=name;else node.append(name);
  node.append(bytes?" "+bytes.length+" bytes":part.raw===undefined?" (not kept)":"")}
 node.append(about);return node};
const bytesOf=(raw)=>{if(raw!==undefined)try{return Uint8Array.from(atob(raw),(character)=>character.charCodeAt(0))}catch{}};
const clear=(node)=>{for(const anchor of node.querySelectorAll("a[download]"))URL.revokeObjectURL(anchor.href);node.replaceChildren()};
const show=(parts,into)=>{for(const part of parts||[]){
 if(typeof part.text==="string"){const last=into.lastElementChild;if(last&&last.dataset.text){last.textContent+=part.text}else{const node=make("pre","",part.text);node.dataset.text="1";into.append(node)}}
 else if(part.data!==undefined)into.append(make("pre","code",JSON.stringify(part.data,null,2)));
 else into.append(fileOf(part));
}};
const kinds={COMPLETED:"good",FAILED:"bad",REJECTED:"bad",CANCELED:"wait",INPUT_REQUIRED:"wait",AUTH_REQUIRED:"wait"};
let artifacts=new Map();
const showYou=(text,isNew)=>{items.push({you:text,isNew});if(isNew)artifacts=new Map();const item=line("you");item.append(make("span","soft small","You"),make("pre","",text))};
const showArtifact=({artifactId,name,parts=[]},append)=>{let shown=artifacts.get(artifactId);
 if(!shown){shown={into:make("div"),kept:{artifactId,name,parts:[]}};const item=line("");item.append(make("span","soft small",name||"Result"),shown.into);artifacts.set(artifactId,shown);items.push({artifact:shown.kept})}
 const{into,kept}=shown;if(!append){clear(into);kept.parts=[]}
 for(const part of parts){const last=kept.parts.at(-1);if(last&&typeof last.text==="string"&&typeof part.text==="string")last.text+=part.text;else kept.parts.push({...part})}
 show(parts,into)};
const wordOf=({state=""})=>state.replace("TASK_STATE_","");
const showStatus=(next)=>{items.push({status:next});heard=next;const word=wordOf(next),item=line("");
 item.append(make("span","state "+(kinds[word]||"soft"),word.toLowerCase().replace("_"," ")));
 if(next.message)show(next.message.parts,item);
 if(["COMPLETED","FAILED","REJECTED","CANCELED"].includes(word))taskId=""};
const showMessage=(message)=>{items.push({message});const item=line("");show(message.parts,item)};
const fail=(text)=>{items.push({failure:text});warn(text)};
const warn=(text)=>{now.textContent="failed";line("bad").append(make("span","bad",text))};
const isAnswered=()=>JSON.stringify(heard)===answered;
const isOpen=()=>taskId!==""&&(isAnswered()||!["INPUT_REQUIRED","AUTH_REQUIRED"].includes(wordOf(heard)));
const hearStatus=(next)=>{if(JSON.stringify(next)!==JSON.stringify(heard))showStatus(next);now.textContent=isAnswered()?"working":wordOf(next).toLowerCase().replace("_"," ")};
const hear=(event)=>{raw.textContent+=JSON.stringify(event,null,1)+"\\n";
 if(event.task){if(taskId!==event.task.id)heard={};taskId=event.task.id;contextId=event.task.contextId;for(const artifact of event.task.artifacts||[])showArtifact(artifact,false);hearStatus(event.task.status);save()}
 if(event.message){now.textContent="answered";contextId=event.message.contextId||contextId;showMessage(event.message)}
 if(event.statusUpdate)hearStatus(event.statusUpdate.status);
 if(event.artifactUpdate)showArtifact(event.artifactUpdate.artifact,event.artifactUpdate.append===true);
 if(event.error)fail(event.error.message)};
const lean=(key,value)=>key==="raw"&&typeof value==="string"&&value.length>${KEPT_FILE}?undefined:value;
const save=()=>{const kept=[];
 for(let at=items.length-1,left=${KEPT_TALK};at>=0;at--){const item=JSON.stringify(items[at],lean);if((left-=item.length)<0)break;kept.unshift(item)}
 try{if(items.length===0)sessionStorage.removeItem(place);else sessionStorage.setItem(place,'{"taskId":'+JSON.stringify(taskId)+',"contextId":'+JSON.stringify(contextId)+',"heard":'+JSON.stringify(heard)+',"answered":'+JSON.stringify(answered)+',"items":['+kept+"]}")}catch{}};
const restore=()=>{let kept;try{kept=JSON.parse(sessionStorage.getItem(place))}catch{}
 if(!kept)return;
 for(const{you,isNew,artifact,status,message,failure}of kept.items){if(you!==undefined)showYou(you,isNew);if(artifact)showArtifact(artifact,false);if(status)showStatus(status);if(message)showMessage(message);if(failure!==undefined)fail(failure)}
 ({taskId,contextId,heard,answered}=kept);now.textContent="";
 if(taskId)follow();else{const last=items.at(-1);if(last&&last.you!==undefined)fail("No answer came before the page was left.");busy(false)}};
const headers=()=>{const all={"content-type":"application/json","a2a-version":"${PROTOCOL_VERSION}"};const auth=$("auth"),credentials=auth.value.trim();if(credentials)all[auth.dataset.header]=credentials;return all};
const read=async(response)=>{const reader=response.body.pipeThrough(new TextDecoderStream()).getReader();let text="";
 for(;;){const{done,value}=await reader.read();if(done)return;text+=value;
  for(let end;(end=text.indexOf("\\n\\n"))>=0;text=text.slice(end+2)){const data=text.slice(0,end).split("\\n").filter((each)=>each.startsWith("data:")).map((each)=>each.slice(5).trimStart()).join("\\n");if(data)hear(JSON.parse(data))}}};
const busy=(is)=>{log.setAttribute("aria-busy",is);sendButton.disabled=is;cancelButton.hidden=!is;newButton.hidden=is||items.length===0;save()};
const refused=async(response)=>{const body=await response.json().catch(()=>({}));fail((body.error&&body.error.message)||"The server answered with "+response.status+".");if(response.status===401)$("who").open=true};
const during=async(work)=>{busy(true);abort=new AbortController();
 try{await work(abort.signal)}catch(error){if(error.name!=="AbortError")warn("The connection was lost: "+error.message)}
 busy(false)};
const isStream=(response)=>response.ok&&(response.headers.get("content-type")||"").split(";")[0].trim().toLowerCase()==="text/event-stream";
const follow=()=>during(async(signal)=>{now.textContent="reading the task";
 for(;;){const path=base+"/tasks/"+encodeURIComponent(taskId),response=await fetch(path+"?historyLength=0",{headers:headers(),signal});
  if(!response.ok){if(response.status===404)taskId="";return refused(response)}
  hear({task:await response.json()});if(!isOpen())return;
  const stream=streams?await fetch(path+":subscribe",{headers:headers(),signal}):undefined;
  if(stream&&isStream(stream))await read(stream);
  if(!isOpen())return;
  await new Promise((resolve)=>setTimeout(resolve,1000));signal.throwIfAborted()}});
form.addEventListener("submit",async(event)=>{event.preventDefault();const text=$("text").value;if(!text.trim()||sendButton.disabled)return;
 now.textContent="sending";answered=taskId&&JSON.stringify(heard);showYou(text,!taskId);$("text").value="";
 const message={messageId:self.crypto&&crypto.randomUUID?crypto.randomUUID():String(Math.random()).slice(2)+Date.now(),role:"ROLE_USER",parts:[{text}],...(taskId&&{taskId}),...(contextId&&{contextId})};
 await during(async(signal)=>{const response=await fetch(base+(streams?"/message:stream":"/message:send"),{method:"POST",headers:headers(),body:JSON.stringify({message}),signal}).catch((error)=>{answered="";throw error});
  if(!response.ok){answered="";await refused(response)}else if(isStream(response))await read(response);else hear(await response.json())});
 if(isOpen()&&!abort.signal.aborted)await follow();
 $("text").focus()});
$("auth").addEventListener("change",()=>{if(isOpen()&&!sendButton.disabled)follow()});
$("text").addEventListener("keydown",(event)=>{if(event.key==="Enter"&&!event.shiftKey&&!event.isComposing){event.preventDefault();form.requestSubmit()}});
cancelButton.addEventListener("click",async()=>{if(!taskId){abort.abort();return}
 const response=await fetch(base+"/tasks/"+encodeURIComponent(taskId)+":cancel",{method:"POST",headers:headers(),body:"{}"}).catch(()=>undefined);if(!response||!response.ok)abort.abort()});
newButton.addEventListener("click",()=>{taskId=contextId=answered="";heard={};items=[];artifacts=new Map();clear(talk);raw.textContent=now.textContent="";busy(false);$("text").focus()});
document.addEventListener("click",async(event)=>{const button=event.target.closest("button");if(!button)return;
 if(button.dataset.example!==undefined){$("text").value=button.dataset.example;$("text").focus()}
 if(button.dataset.copy!==undefined){const text=button.previousElementSibling.textContent;
  try{await navigator.clipboard.writeText(text);button.textContent=now.textContent="Copied"}catch{getSelection().selectAllChildren(button.previousElementSibling);button.textContent=now.textContent="Selected"}
  setTimeout(()=>{button.textContent="Copy"},1500)}});
addEventListener("pagehide",save);
restore();
`;
