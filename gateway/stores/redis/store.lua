-- The store's operations inside Redis: each call runs one operation, completely or not at all.
--
-- KEYS[1] is the caller's lease, KEYS[2] never exists: while a cluster moves our slot, naming it makes the cluster refuse the whole
-- operation. Every other key begins with the same {prefix}, so a cluster keeps all in one slot.
-- ARGV: prefix, member, fence, link, batch, number, operation, and its arguments. Times are passed twice where both are
-- needed: as text to store, and in microseconds since 1970 for sorting.

local prefix, member, fence, link, batch, number, operation = unpack(ARGV, 1, 7)
local args = { unpack(ARGV, 8) }
local call = redis.call

local function key(...)
    return prefix .. ':' .. table.concat({ ... }, ':')
end

local function next_id(kind)
    return string.format('%d', call('HINCRBY', key('ids'), kind, 1))
end

-- A turn is named after its message's number, in a transcript that is not kept here. If the server loses its last
-- writes, or all, the clock keeps numbers that the transcripts know from being reused.
local function next_message()
    local now, last = call('TIME'), tonumber(call('HGET', key('ids'), 'inbox') or 0)
    local id = string.format('%d', math.max(last + 1, now[1] * 1000 + math.floor(now[2] / 1000)))
    call('HSET', key('ids'), 'inbox', id)
    return id
end

local function count(reason, amount)
    call('HINCRBY', key('ledger'), reason, amount)
end

local function rest(first)
    return { unpack(args, first) }
end

-- Leases: a member is alive while its key holds its fence; its holdings are stored beside it.

local function is_alive(owner)
    local name, number = string.match(owner, '^(.*)#(%d+)$')
    return call('GET', key('member', name)) == number
end

local function owner_of(name)
    return call('HGET', key('owners'), name)
end

-- Outbox.

local function lane(chat, fallback)
    local agent = call('HGET', key('chats'), chat)
    if agent and owner_of('agent:' .. agent) == member .. '#' .. fence then
        return agent
    end
    return fallback
end

local function enqueue(agent, turn, chat, outgoing, now)
    local id = next_id('outbox')
    call('HSET', key('reply', id), 'agent', agent, 'turn_id', turn, 'address', chat, 'outgoing', outgoing,
        'created_at', now, 'state', 'queued', 'parts_sent', 0, 'attempts', 0)
    call('ZADD', key('unfinished'), id, id)
    call('ZADD', key('outbox', agent), id, id)
    return id
end

-- Jobs: the outcomes of their slots are updated by their turns and answers.

local JOB = { 'errand', 'enabled', 'next', 'last', 'failures' }

local function job_row(id)
    return { id, unpack(call('HMGET', key('job', id), unpack(JOB))) }
end

local function forget_run(id)
    call('HDEL', key('runs', 'of', 'message'), call('HGET', key('run', id), 'message') or '')
    call('HDEL', key('runs', 'of', 'turn'), call('HGET', key('run', id), 'turn') or '')
    call('DEL', key('run', id))
end

local function note(job, slot, state, message, kept)
    local id = next_id('run')
    call('HSET', key('run', id), 'job', job, 'slot', slot, 'state', state)
    if message then
        call('HSET', key('run', id), 'message', message)
        call('HSET', key('runs', 'of', 'message'), message, id)
    end
    call('LPUSH', key('runs', job), id)
    for _, old in ipairs(call('LRANGE', key('runs', job), kept, -1)) do
        forget_run(old)
    end
    call('LTRIM', key('runs', job), 0, kept - 1)
end

local function settle_run(id, from, state)
    if not id or call('HGET', key('run', id), 'state') ~= from then
        return
    end
    call('HSET', key('run', id), 'state', state)
    local job = key('job', call('HGET', key('run', id), 'job'))
    if state == 'failed' or state == 'dead' then
        call('HINCRBY', job, 'failures', 1)
    elseif state ~= 'answered' then
        call('HSET', job, 'failures', 0)
    end
end

local function settle_message(message, state, turn)
    local id = call('HGET', key('runs', 'of', 'message'), message)
    if id and turn then
        call('HSET', key('run', id), 'turn', turn)
        call('HSET', key('runs', 'of', 'turn'), turn, id)
    end
    settle_run(id, 'running', state)
end

local REPLY = { 'turn_id', 'outgoing', 'created_at', 'state', 'parts_sent', 'attempts', 'not_before', 'begun_at' }

-- The reply's key if it is in one of the states and, if a part is given, at that part.
local function standing(id, states, part)
    local reply = key('reply', id)
    local state, sent = unpack(call('HMGET', reply, 'state', 'parts_sent'))
    if not state then
        return nil, redis.error_reply('STATE outbox row ' .. id .. ' does not exist')
    end
    if not states[state] or (part and part ~= sent) then
        return nil, redis.error_reply('STATE outbox row ' .. id .. ' is ' .. state .. ' with ' .. sent .. ' parts sent')
    end
    return reply
end

local function close(id, state, score)
    call('ZREM', key('outbox', call('HGET', key('reply', id), 'agent')), id)
    call('ZREM', key('unfinished'), id)
    call('ZADD', key(state), score, id)
    local run = call('HGET', key('runs', 'of', 'turn'), call('HGET', key('reply', id), 'turn_id'))
    settle_run(run, 'answered', state == 'sent' and 'delivered' or state)
    if run and state == 'sent' then
        local messages = {}
        for part = 0, tonumber(call('HGET', key('reply', id), 'parts_sent')) - 1 do
            messages[#messages + 1] = call('HGET', key('reply', id), 'receipt:' .. part) or nil
        end
        call('HSET', key('run', run), 'messages', table.concat(messages, ' '))
    end
end

local OPEN, QUEUED, SENDING = { queued = true, sending = true }, { queued = true }, { sending = true }

-- Changes that wait for the owner.

local CHANGE = { 'full', 'bare', 'created_at', 'expires_at', 'state' }

local function settle(id, state, score)
    call('HSET', key('change', id), 'state', state)
    call('HDEL', key('change', id), 'full')
    call('ZREM', key('changes', 'waiting'), id)
    call('ZADD', key('changes', 'decided'), score, id)
end

local function expire(score)
    local late = call('ZRANGEBYSCORE', key('changes', 'waiting'), '-inf', score)
    for _, id in ipairs(late) do
        settle(id, 'expired', score)
    end
    if #late > 0 then
        count('approval_expired', #late)
    end
end

local function take(id)
    local agent = call('HGET', key('waiting'), id)
    if agent then
        call('HDEL', key('waiting'), id)
        call('XDEL', key('inbox', agent), id .. '-0')
    end
    return agent
end

local function trim(set, score, limit, rows)
    local old = call('ZRANGEBYSCORE', set, '-inf', score, 'LIMIT', 0, limit)
    for _, name in ipairs(old) do
        call('ZREM', set, name)
        if rows then
            call('DEL', key(rows, name))
        end
    end
    return #old
end

local reads, writes = {}, {}

-- A gateway's spool has the latest message that the gateway accepted. A server that knows only an earlier one has lost
-- messages that it confirmed.
local function has_lost(spool, accepted)
    return spool and tonumber(call('HGET', key('accepted'), spool) or 0) < tonumber(accepted)
end

function writes.append(agent, chat, name, now, expires, message, received, spool, accepted)
    if has_lost(spool, accepted) then
        return redis.error_reply('LOST messages')
    end
    local known = call('ZSCORE', key('seen'), name)
    if known and tonumber(known) > tonumber(now) then
        return {}
    end
    call('ZADD', key('seen'), expires, name)
    local id = next_message()
    call('XADD', key('inbox', agent), id .. '-0', 'message', message, 'received_at', received)
    call('HSET', key('waiting'), id, agent)
    call('HSET', key('chats'), chat, agent)
    if spool then
        call('HSET', key('accepted'), spool, id)
    end
    return { id }
end

function reads.has_lost(spool, accepted)
    return { has_lost(spool, accepted) and 1 or 0 }
end

-- Of messages that a gateway accepted, those that wait for their turn, and those whose turn's reply is not delivered.
function reads.unanswered(spool, accepted, ...)
    if has_lost(spool, accepted) then
        return redis.error_reply('LOST messages')
    end
    local turns, ids = {}, {}
    for _, id in ipairs(call('ZRANGE', key('unfinished'), 0, -1)) do
        turns[call('HGET', key('reply', id), 'turn_id') or ''] = true
    end
    for _, id in ipairs({ ... }) do
        if call('HEXISTS', key('waiting'), id) == 1 or turns['t' .. id] then
            ids[#ids + 1] = id
        end
    end
    return ids
end

-- A lost message gets its own number again, by which its turn goes on; or a new one, after the messages that were
-- accepted since. One that the server knows, answered or not, stays as it is.
function writes.restore(agent, chat, name, now, expires, message, received, id)
    local known = call('ZSCORE', key('seen'), name)
    if call('HEXISTS', key('waiting'), id) == 1 or (known and tonumber(known) > tonumber(now)) then
        return {}
    end
    call('ZADD', key('seen'), expires, name)
    local fields = { 'message', message, 'received_at', received }
    if redis.pcall('XADD', key('inbox', agent), id .. '-0', unpack(fields)).err then
        id = next_message()
        call('XADD', key('inbox', agent), id .. '-0', unpack(fields))
    elseif tonumber(call('HGET', key('ids'), 'inbox') or 0) < tonumber(id) then
        call('HSET', key('ids'), 'inbox', id)
    end
    call('HSET', key('waiting'), id, agent)
    call('HSET', key('chats'), chat, agent)
    return { id }
end

function writes.accepted(spool, id)
    call('HSET', key('accepted'), spool, id)
end

-- The messages after a given one, at most so many of each agent (0: all).
function reads.waiting(after, limit, ...)
    local rows, most = {}, tonumber(limit) > 0 and { 'COUNT', limit } or {}
    for _, agent in ipairs({ ... }) do
        for _, entry in ipairs(call('XRANGE', key('inbox', agent), '(' .. after .. '-0', '+', unpack(most))) do
            rows[#rows + 1] = { agent, entry[1], entry[2] }
        end
    end
    return rows
end

-- A message stored under other bindings moves to the end of the queue of its current agent.
function writes.move(id, agent)
    local entry = call('XRANGE', key('inbox', call('HGET', key('waiting'), id) or ''), id .. '-0', id .. '-0')[1]
    if entry then
        take(id)
        local fresh = next_message()
        call('XADD', key('inbox', agent), fresh .. '-0', unpack(entry[2]))
        call('HSET', key('waiting'), fresh, agent)
        return { fresh }
    end
end

function writes.drop(id, reason)
    if take(id) then
        count(reason, 1)
        settle_message(id, 'failed')
    end
end

-- A turn's outcome: the job's state, how many messages it answers and which, then its replies, two arguments each.
function writes.commit(turn, score, now, fallback, state, answers)
    if call('ZSCORE', key('turns'), turn) then
        return {}
    end
    local agent
    for n = 1, tonumber(answers) do
        agent = take(args[6 + n]) or agent
    end
    if tonumber(answers) > 0 and not agent then
        return {}
    end
    call('ZADD', key('turns'), score, turn)
    for n = 1, tonumber(answers) do
        settle_message(args[6 + n], state, turn)
    end
    local ids = {}
    for n = 7 + tonumber(answers), #args, 2 do
        ids[#ids + 1] = enqueue(agent or lane(args[n], fallback), turn, args[n], args[n + 1], now)
    end
    return ids
end

function writes.notify(name, score, now, fallback, turn, chat, outgoing)
    if call('ZADD', key('notices'), 'NX', score, name) == 0 then
        return {}
    end
    return { enqueue(lane(chat, fallback), turn, chat, outgoing, now) }
end

function reads.unfinished(...)
    local rows = {}
    for _, agent in ipairs({ ... }) do
        for _, id in ipairs(call('ZRANGE', key('outbox', agent), 0, -1)) do
            rows[#rows + 1] = { agent, id, unpack(call('HMGET', key('reply', id), unpack(REPLY))) }
        end
    end
    return rows
end

function reads.finished(state, first, last)
    local rows = {}
    for _, id in ipairs(call('ZRANGE', key(state), first, last)) do
        rows[#rows + 1] = { id, call('HGET', key('reply', id), 'outgoing') or '' }
    end
    return rows
end

function writes.redact_reply(id, outgoing)
    if call('EXISTS', key('reply', id)) == 0 then
        return {}
    end
    call('HSET', key('reply', id), 'outgoing', outgoing)
    return { id }
end

function writes.begin_part(id, part, at)
    local reply, refusal = standing(id, QUEUED, part)
    if not reply then
        return refusal
    end
    call('HSET', reply, 'state', 'sending')
    call('HDEL', reply, 'not_before')
    if part == '0' then
        call('HSET', reply, 'begun_at', at)
    end
end

function writes.part_sent(id, part, state, message_id, score)
    local reply, refusal = standing(id, SENDING, part)
    if not reply then
        return refusal
    end
    call('HSET', reply, 'state', state, 'parts_sent', part + 1, 'receipt:' .. part, message_id)
    if state == 'sent' then
        close(id, state, score)
    end
end

function writes.put_back(id, not_before, why)
    local reply, refusal = standing(id, OPEN)
    if not reply then
        return refusal
    end
    call('HSET', reply, 'state', 'queued', 'not_before', not_before, 'why', why)
    call('HINCRBY', reply, 'attempts', 1)
    count('send_delayed', 1)
end

function writes.record_unsure(id, part, why, at, kept)
    local reply, refusal = standing(id, SENDING, part)
    if not reply then
        return refusal
    end
    call('HSET', reply, 'state', 'queued', 'why', why)
    call('HINCRBY', reply, 'attempts', 1)
    count('send_unsure', 1)
    call('RPUSH', key('unsure'), cjson.encode({ id, call('HGET', reply, 'address'), part, at, why }))
    call('LTRIM', key('unsure'), -tonumber(kept), -1)
end

function writes.finish(id, score)
    local reply, refusal = standing(id, QUEUED)
    if not reply then
        return refusal
    end
    call('HSET', reply, 'state', 'sent')
    close(id, 'sent', score)
end

function writes.bury(id, why, score)
    local reply, refusal = standing(id, OPEN)
    if not reply then
        return refusal
    end
    call('HSET', reply, 'state', 'dead', 'why', why)
    close(id, 'dead', score)
    count('dead_letter', 1)
end

function writes.number_change()
    return { next_id('change') }
end

function writes.propose(id, full, bare, now, expires, score, fallback, turn, chat, outgoing)
    call('HSET', key('change', id), 'full', full, 'bare', bare, 'created_at', now, 'expires_at', expires,
        'state', 'waiting')
    call('ZADD', key('changes', 'waiting'), score, id)
    return { enqueue(lane(chat, fallback), turn, chat, outgoing, now) }
end

function reads.changes(score)
    local rows = {}
    for _, id in ipairs(call('ZRANGEBYSCORE', key('changes', 'waiting'), '(' .. score, '+inf')) do
        rows[#rows + 1] = { id, unpack(call('HMGET', key('change', id), unpack(CHANGE))) }
    end
    return rows
end

function reads.change(id)
    if call('EXISTS', key('change', id)) == 0 then
        return {}
    end
    return { { id, unpack(call('HMGET', key('change', id), unpack(CHANGE))) } }
end

function writes.decide(id, state, score)
    local expires = call('ZSCORE', key('changes', 'waiting'), id)
    if not expires or tonumber(expires) <= tonumber(score) then
        return {}
    end
    settle(id, state, score)
    return { id }
end

function writes.add_job(agent, errand, next, most, name)
    local known = name ~= '' and call('HGET', key('jobs', 'keys'), name)
    if known then
        return { job_row(known) }
    end
    local to_come = 0
    for _, id in ipairs(call('ZRANGE', key('jobs', agent), 0, -1)) do
        to_come = to_come + (call('HGET', key('job', id), 'next') ~= '' and 1 or 0)
    end
    if to_come >= tonumber(most) then
        return {}
    end
    local id = next_id('job')
    call('HSET', key('job', id), 'agent', agent, 'errand', errand, 'enabled', 1, 'next', next, 'last', '',
        'failures', 0, 'key', name)
    call('ZADD', key('jobs', agent), id, id)
    if name ~= '' then
        call('HSET', key('jobs', 'keys'), name, id)
    end
    return { job_row(id) }
end

function reads.jobs(...)
    local rows = {}
    for _, agent in ipairs({ ... }) do
        for _, id in ipairs(call('ZRANGE', key('jobs', agent), 0, -1)) do
            rows[#rows + 1] = { agent, unpack(job_row(id)) }
        end
    end
    return rows
end

local function forget_job(id)
    local agent, name = unpack(call('HMGET', key('job', id), 'agent', 'key'))
    if not agent then
        return {}
    end
    call('ZREM', key('jobs', 'done'), id)
    call('ZREM', key('jobs', agent), id)
    call('HDEL', key('jobs', 'keys'), name)
    for _, run in ipairs(call('LRANGE', key('runs', id), 0, -1)) do
        forget_run(run)
    end
    call('DEL', key('job', id))
    call('DEL', key('runs', id))
    return { id }
end

function writes.remove_job(id)
    return forget_job(id)
end

function writes.set_next(id, next)
    if call('EXISTS', key('job', id)) == 0 then
        return {}
    end
    call('HSET', key('job', id), 'enabled', next == '' and 0 or 1, 'next', next, 'failures', 0)
    call('ZREM', key('jobs', 'done'), id)
    return { id }
end

-- Quarantined rows are kept whole, in a stream from which only the owner removes them, and block nothing.

local function keep_aside(reason, agent, row, why, at, fields)
    call('XADD', key('quarantine'), '*', 'reason', reason, 'of', agent, 'row', row, 'why', why, 'at', at, unpack(fields))
    count(reason, 1)
    return { row }
end

function reads.quarantine()
    return call('XRANGE', key('quarantine'), '-', '+')
end

function writes.redact_quarantined(id, ...)
    if call('XDEL', key('quarantine'), id) == 0 then
        return {}
    end
    return { call('XADD', key('quarantine'), '*', ...) }
end

function writes.drop_quarantined(id)
    return call('XDEL', key('quarantine'), id) > 0 and { id } or {}
end

local function taken_back(id)
    local entry = call('XRANGE', key('quarantine'), id, id)[1]
    if not entry then
        return nil
    end
    call('XDEL', key('quarantine'), id)
    local found = {}
    for n = 1, #entry[2], 2 do
        found[entry[2][n]] = entry[2][n + 1]
    end
    return found
end

function writes.retry_message(id)
    local was = taken_back(id)
    if not was then
        return {}
    end
    local fresh = next_message()
    call('XADD', key('inbox', was.of), fresh .. '-0', 'message', was.message, 'received_at', was.received_at)
    call('HSET', key('waiting'), fresh, was.of)
    return { fresh }
end

function writes.retry_reply(id)
    local was = taken_back(id)
    if not was then
        return {}
    end
    local fresh = enqueue(was.of, was.turn_id, was.address, was.outgoing, was.created_at)
    call('HSET', key('reply', fresh), 'parts_sent', was.parts_sent, 'attempts', was.attempts)
    return { fresh, was.turn_id, was.created_at, was.parts_sent, was.attempts }
end

function writes.retry_job(id)
    local was = taken_back(id)
    if not was then
        return {}
    end
    call('HSET', key('job', was.row), 'agent', was.of, 'errand', was.errand, 'enabled', was.enabled, 'next', was.next,
        'last', was.last, 'failures', was.failures, 'key', was.key)
    call('ZADD', key('jobs', was.of), was.row, was.row)
    if was.key ~= '' then
        call('HSETNX', key('jobs', 'keys'), was.key, was.row)
    end
    return { was.row }
end

function writes.set_message_aside(reason, agent, row, why, at)
    if agent == '' then
        agent, row = call('HGET', key('waiting'), row) or '', row .. '-0'
    end
    local entry = call('XRANGE', key('inbox', agent), row, row)[1]
    if not entry then
        return {}
    end
    local kept = keep_aside(reason, agent, row, why, at, entry[2])
    call('XDEL', key('inbox', agent), row)
    local id = string.match(row, '^(%d+)-0$')
    if id and call('HGET', key('waiting'), id) == agent then
        call('HDEL', key('waiting'), id)
        settle_message(id, 'failed')
    end
    return kept
end

function writes.set_reply_aside(reason, agent, row, why, at)
    if agent == '' then
        agent = call('HGET', key('reply', row), 'agent') or ''
    end
    if not call('ZSCORE', key('outbox', agent), row) then
        return {}
    end
    local reply = key('reply', row)
    local kept = keep_aside(reason, agent, row, why, at, call('HGETALL', reply))
    call('ZREM', key('outbox', agent), row)
    call('ZREM', key('unfinished'), row)
    settle_run(call('HGET', key('runs', 'of', 'turn'), call('HGET', reply, 'turn_id') or ''), 'answered', 'dead')
    call('DEL', reply)
    return kept
end

function writes.set_job_aside(reason, agent, row, why, at)
    if not call('ZSCORE', key('jobs', agent), row) then
        return {}
    end
    local kept = keep_aside(reason, agent, row, why, at, call('HGETALL', key('job', row)))
    call('ZREM', key('jobs', agent), row)
    forget_job(row)
    return kept
end

function writes.run_job(id, slot, kept, ...)
    if call('EXISTS', key('job', id)) == 0 then
        return {}
    end
    local stored = writes.append(...)
    if stored[1] then
        note(id, slot, 'running', stored[1], kept)
    end
    return stored
end

function writes.take_slot(id, score, slot, before, after, kept, ...)
    local enabled, next = unpack(call('HMGET', key('job', id), 'enabled', 'next'))
    if enabled ~= '1' or next ~= before then
        return {}
    end
    call('HSET', key('job', id), 'last', slot, 'next', after)
    if after == '' then
        call('ZADD', key('jobs', 'done'), score, id)
    end
    if select('#', ...) == 0 then
        note(id, slot, 'missed', nil, kept)
        return {}
    end
    return writes.run_job(id, slot, kept, ...)
end

function reads.runs(job)
    local rows = {}
    for _, id in ipairs(call('LRANGE', key('runs', job), 0, -1)) do
        rows[#rows + 1] = call('HMGET', key('run', id), 'slot', 'state', 'turn', 'messages')
    end
    return rows
end

-- Admission. A pairing request: its expiry, its code (none once it was refused), the account, when it was made, and its
-- visitor.

local REQUEST = '^(%d+)|([^|]*)|([^|]*)|([^|]*)|(.*)$'

-- Calls `see` with each request that is valid at that time; returns the visitors of the others.
local function requests(now, see)
    local over, all = {}, call('HGETALL', key('pairings'))
    for n = 1, #all, 2 do
        local ends, code, account, asked, who = string.match(all[n + 1], REQUEST)
        if tonumber(ends) > tonumber(now) then
            see(all[n], { ends = ends, code = code, account = account, asked = asked, who = who })
        else
            over[#over + 1] = all[n]
        end
    end
    return over
end

local function request_of(code, now)
    local name, found
    requests(now, function(each, request)
        if request.code == code then
            name, found = each, request
        end
    end)
    return name, found
end

local function forget_requests(names)
    for _, name in ipairs(names) do
        call('HDEL', key('pairings'), name)
    end
    return #names
end

function writes.pair_ask(now, name, account, code, ends, asked, who, most, older, created, fallback, turn, chat, outgoing)
    local is_known, waiting, oldest, first = false, 0, nil, nil
    forget_requests(requests(now, function(each, request)
        is_known = is_known or each == name
        if request.account == account and request.code ~= '' then
            waiting = waiting + 1
            if not first or request.asked < first.asked or (request.asked == first.asked and each < oldest) then
                oldest, first = each, request
            end
        end
    end))
    if is_known then
        return {}
    end
    if waiting >= tonumber(most) then
        if not first or first.asked >= older then
            return {}
        end
        call('HSET', key('pairings'), oldest, table.concat({ first.ends, '', account, first.asked, first.who }, '|'))
    end
    call('HSET', key('pairings'), name, table.concat({ ends, code, account, asked, who }, '|'))
    return { enqueue(lane(chat, fallback), turn, chat, outgoing, created) }
end

function writes.pair_let_in(name, since, who)
    call('HDEL', key('pairings'), name)
    call('HSET', key('guests'), name, since .. '|' .. who)
end

function reads.pair_waiting(now)
    local rows = {}
    requests(now, function(_, request)
        if request.code ~= '' then
            rows[#rows + 1] = { request.code, request.ends, request.asked, request.who }
        end
    end)
    return rows
end

function writes.pair_approve(now, code, since)
    local name, request = request_of(code, now)
    if not name then
        return {}
    end
    call('HDEL', key('pairings'), name)
    call('HSET', key('guests'), name, since .. '|' .. request.who)
    return { request.who }
end

function writes.pair_refuse(now, code, ends)
    local name, request = request_of(code, now)
    if not name then
        return {}
    end
    call('HSET', key('pairings'), name, table.concat({ ends, '', request.account, request.asked, request.who }, '|'))
    return { request.who }
end

function writes.pair_revoke(...)
    for _, name in ipairs({ ... }) do
        call('HDEL', key('guests'), name)
    end
end

function reads.guests()
    return call('HVALS', key('guests'))
end

function reads.is_guest(name)
    return call('HEXISTS', key('guests'), name)
end

local function drop_heard(place, messages)
    for _, message in ipairs(messages) do
        call('HDEL', key('heard', place), message)
        call('ZREM', key('heard', place, 'order'), message)
    end
end

function writes.overhear(place, message, text, most, life_s)
    local texts, order = key('heard', place), key('heard', place, 'order')
    if call('HSET', texts, message, text) == 1 then
        call('ZADD', order, next_id('heard'), message)
    end
    drop_heard(place, call('ZRANGE', order, 0, -1 - tonumber(most)))
    call('EXPIRE', texts, life_s)
    call('EXPIRE', order, life_s)
end

function reads.overheard(place)
    local rows, order = {}, call('ZRANGE', key('heard', place, 'order'), 0, -1, 'WITHSCORES')
    for n = 1, #order, 2 do
        rows[#rows + 1] = { order[n + 1], call('HGET', key('heard', place), order[n]) }
    end
    return rows
end

function writes.forget_heard(place, last)
    drop_heard(place, call('ZRANGEBYSCORE', key('heard', place, 'order'), '-inf', last))
end

function writes.drop_heard(place, message)
    drop_heard(place, { message })
end

function writes.let_heard_go(place, mark, reason)
    local messages = call('ZRANGEBYSCORE', key('heard', place, 'order'), mark, mark)
    drop_heard(place, messages)
    if #messages > 0 then
        count(reason, #messages)
    end
    return messages
end

local function drop_silences(lines)
    for _, line in ipairs(lines) do
        call('ZREM', key('silences'), line)
        call('HDEL', key('silences', 'times'), line)
    end
    return #lines
end

function writes.silence(line, at, times, most)
    call('ZADD', key('silences'), at, line)
    call('HINCRBY', key('silences', 'times'), line, times)
    drop_silences(call('ZRANGE', key('silences'), 0, -1 - tonumber(most)))
end

function reads.silences()
    local rows, lines = {}, call('ZREVRANGE', key('silences'), 0, -1, 'WITHSCORES')
    for n = 1, #lines, 2 do
        rows[#rows + 1] = { lines[n], lines[n + 1], call('HGET', key('silences', 'times'), lines[n]) }
    end
    return rows
end

function writes.count(reason, amount)
    count(reason, amount)
end

function writes.spend(agent, day, age_s, ...)
    local place, amounts = key('spent', agent, day), { ... }
    for n = 1, #amounts, 2 do
        call('HINCRBY', place, amounts[n], amounts[n + 1])
    end
    call('EXPIRE', place, age_s)
end

function reads.spent(agent, day)
    return call('HGETALL', key('spent', agent, day))
end

function reads.get(name)
    return call('HGET', key('kv'), name)
end

function writes.put(name, value)
    call('HSET', key('kv'), name, value)
end

function reads.report(score)
    return {
        call('HLEN', key('waiting')), call('ZCARD', key('unfinished')), call('ZCARD', key('dead')),
        call('ZCOUNT', key('changes', 'waiting'), '(' .. score, '+inf'),
        call('LRANGE', key('unsure'), 0, -1), call('HGETALL', key('ledger')), call('XLEN', key('quarantine')),
    }
end

-- At most `limit` rows of a kind, so that nobody waits long; called again until it returns none.
function writes.prune(now, sent, dead, decided, keys, silences, limit)
    expire(now)
    local done = call('ZRANGEBYSCORE', key('jobs', 'done'), '-inf', dead, 'LIMIT', 0, limit)
    for _, id in ipairs(done) do
        forget_job(id)
    end
    return {
        forget_requests(requests(now, function() end))
            + drop_silences(call('ZRANGEBYSCORE', key('silences'), '-inf', silences, 'LIMIT', 0, limit)) +
        trim(key('seen'), now, limit) + trim(key('sent'), sent, limit, 'reply') + trim(key('dead'), dead, limit, 'reply')
            + trim(key('changes', 'decided'), decided, limit, 'change')
            + #done + trim(key('turns'), keys, limit) + trim(key('notices'), keys, limit),
    }
end

function writes.claim(...)
    local mine, ours = member .. '#' .. fence, {}
    for _, name in ipairs({ ... }) do
        local owner = owner_of(name)
        if not owner or owner == mine or not is_alive(owner) then
            call('HSET', key('owners'), name, mine)
            ours[#ours + 1] = name
        end
    end
    return ours
end

function writes.release(...)
    for _, name in ipairs({ ... }) do
        if owner_of(name) == member .. '#' .. fence then
            call('HDEL', key('owners'), name)
        end
    end
end

-- Pins: the authoritative copy of an agent's files. The same pin is in the folder; a claim compares the two.

local function is_free(agent)
    local owner = owner_of('agent:' .. agent)
    return not owner or owner == member .. '#' .. fence or not is_alive(owner)
end

function reads.known(...)
    local rows = {}
    for _, agent in ipairs({ ... }) do
        local pin = call('HGET', key('pins'), agent) or ''
        rows[#rows + 1] = { pin, is_free(agent) and 1 or 0 }
    end
    return rows
end

function writes.take_agent(agent, had, fresh)
    if not is_free(agent) or (call('HGET', key('pins'), agent) or '') ~= had then
        return {}
    end
    call('HSET', key('pins'), agent, fresh)
    call('HSET', key('owners'), 'agent:' .. agent, member .. '#' .. fence)
    return { agent }
end

function writes.dwell(volume)
    call('HSET', key('members'), member .. '#' .. fence, volume)
end

function writes.leave()
    call('DEL', KEYS[1])
    call('HDEL', key('members'), member .. '#' .. fence)
end

function reads.members()
    local volumes, all = {}, call('HGETALL', key('members'))
    for n = 1, #all, 2 do
        if is_alive(all[n]) then
            volumes[#volumes + 1] = all[n + 1]
        end
    end
    return volumes
end

-- Before there is a lease: take one under a new fence, with the existing holdings of this name. Whoever held it under this name before is gone: the caller has
-- the lock of their common home.
if operation == 'join' then
    local lease_ms = args[1]
    local fresh = string.format('%d', call('INCR', key('fence')))
    call('SET', KEYS[1], fresh, 'PX', lease_ms)
    for _, known in ipairs(call('HKEYS', key('members'))) do
        if not is_alive(known) then
            call('HDEL', key('members'), known)
        end
    end
    call('HSET', key('members'), member .. '#' .. fresh, 1)
    local owners = call('HGETALL', key('owners'))
    for n = 1, #owners, 2 do
        if string.match(owners[n + 1], '^(.*)#%d+$') == member then
            call('HSET', key('owners'), owners[n], member .. '#' .. fresh)
        end
    end
    return fresh
end

-- Without a lease: an operator says that other files are the agent's from now on. Returns the member that runs it, if any.
if operation == 'adopt' then
    local agent, fresh = unpack(args)
    local owner = owner_of('agent:' .. agent)
    if owner and is_alive(owner) then
        return owner
    end
    call('HSET', key('pins'), agent, fresh)
    return ''
end

if operation == 'renew' then -- never answered from a stored result: the caller counts its time from this very call
    local is_ours = call('GET', KEYS[1]) == fence and not has_lost(args[2], args[3])
    return { is_ours and call('PEXPIRE', KEYS[1], args[1]) or 0 }
end

local read = reads[operation]
if read then
    return read(unpack(args))
end

-- A write is done once however often it is sent: its result is kept until the caller's next batch. A copy that comes
-- later than that, out of a broken connection, is refused.
local done = key('done', member, fence, link)
local known = tonumber(call('HGET', done, 'batch') or 0)
if tonumber(batch) < known then
    return redis.error_reply('STALE batch')
end
local result = tonumber(batch) == known and call('HGET', done, number)
if result then
    return cmsgpack.unpack(result)
end
if call('GET', KEYS[1]) ~= fence then
    return redis.error_reply('FENCE lease is over')
end
if tonumber(batch) > known then
    call('HSET', done, 'batch', batch) -- first, so that a server without memory refuses before anything has changed
    call('DEL', done)
    call('HSET', done, 'batch', batch)
    call('EXPIRE', done, 86400)
end
result = writes[operation](unpack(args)) or {}
if not result.err then
    call('HSET', done, number, cmsgpack.pack(result))
end
return result
