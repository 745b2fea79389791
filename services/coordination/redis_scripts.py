"""The ledger's Lua scripts. KEYS[1] is the prefix of all keys.

A step's ordinals go to Redis' own commands in bulk: a hundred of them cost hardly more than one, in time and in the
append-only file. A complete epoch has no bitmaps, but an entry in `past`; queries beyond its counts are answered with
"past", and the caller reads that entry.
"""

__all__ = ["SCRIPTS"]

_BULK = """
local prefix = KEYS[1]
local function is_past(epoch) return redis.call('HEXISTS', prefix .. ':past', epoch) == 1 end
local function count(what, epoch, number)
  if number ~= 0 then redis.call('HINCRBY', prefix .. ':counts', what .. ':' .. epoch, number) end
end

-- Calls command(key, before..., ordinal, after, before..., ordinal, after, ...), in portions that Lua can pass.
local function bulk(command, key, ordinals, before, after)
  local answers = {}
  for first = 1, #ordinals, 1000 do
    local arguments = {}
    for i = first, math.min(first + 999, #ordinals) do
      for _, word in ipairs(before) do arguments[#arguments + 1] = word end
      arguments[#arguments + 1] = ordinals[i]
      arguments[#arguments + 1] = after
    end
    local some = redis.call(command, key, unpack(arguments))
    if type(some) == 'table' then
      for _, answer in ipairs(some) do answers[#answers + 1] = answer end
    end
  end
  return answers
end
local function bits(key, ordinals) return bulk('BITFIELD_RO', key, ordinals, {'GET', 'u1'}) end
"""

# Its first arguments are the caller's: generation, name and writes that were acknowledged to it in the generation.
# One of another generation changes nothing, nor does any once writes of the generation are known to be lost. A script
# that writes answers with the caller's count, which `acknowledge` adds to.
_FENCE = """
local meta, caller = KEYS[1] .. ':meta', ARGV[2]
local current, lost = unpack(redis.call('HMGET', meta, 'generation', 'lost'))
current = tonumber(current or '0')
if tonumber(ARGV[1]) ~= current then return {'other', current} end
local function verify(client, acknowledged)
  local found = tonumber(redis.call('HGET', KEYS[1] .. ':writes', client) or '0')
  if not lost and found < tonumber(acknowledged) then
    lost = client .. ':' .. acknowledged .. ':' .. found
    redis.call('HSET', meta, 'lost', lost)
  end
end
verify(caller, ARGV[3])
if lost then return {'lost', lost} end
local function acknowledge() return redis.call('HINCRBY', KEYS[1] .. ':writes', caller, 1) end
"""

# ARGV: caller, token, epoch of the commits, their number, ordinals to commit..., epoch of the claims, ordinals...
_STEP = (
    _FENCE
    + _BULK
    + """
local token = ARGV[4]
local epoch, commits = ARGV[5], {}
for i = 7, 6 + tonumber(ARGV[6]) do commits[i - 6] = ARGV[i] end
if #commits > 0 then
  if is_past(epoch) then return {'past'} end
  local committed, claims = prefix .. ':committed:' .. epoch, prefix .. ':claims:' .. epoch
  local holders, done = bulk('HMGET', claims, commits, {}), bits(committed, commits)
  local unclaimed = {'unclaimed'}
  for i, ordinal in ipairs(commits) do
    if not holders[i] and done[i] == 0 then unclaimed[#unclaimed + 1] = ordinal end
  end
  if #unclaimed > 1 then return unclaimed end
  local fresh = #commits
  for _, before in ipairs(bulk('BITFIELD', committed, commits, {'SET', 'u1'}, 1)) do fresh = fresh - before end
  bulk('HDEL', claims, commits, {})
  redis.call('SADD', prefix .. ':epochs', epoch)
  count('committed', epoch, fresh)
end

epoch = ARGV[7 + #commits]
local wanted = {}
for i = 8 + #commits, #ARGV do wanted[#wanted + 1] = ARGV[i] end
local answers, fresh, seen, refused = {'ok', acknowledge()}, {}, {}, 0
local past = #wanted > 0 and is_past(epoch)
local claims = prefix .. ':claims:' .. epoch
local holders = bulk('HMGET', claims, wanted, {})
local committed = bits(prefix .. ':committed:' .. epoch, wanted)
local rejected = bits(prefix .. ':rejected:' .. epoch, wanted)
for i, ordinal in ipairs(wanted) do
  local granted = 0
  if not seen[ordinal] and not past then
    if holders[i] then
      if holders[i] == token then granted = 1 end
    elseif committed[i] == 0 and rejected[i] == 0 then
      fresh[#fresh + 1], granted = ordinal, 1
    end
  end
  seen[ordinal] = true
  refused = refused + 1 - granted
  answers[#answers + 1] = granted
end
bulk('HSET', claims, fresh, {}, token)
if refused > 0 then redis.call('HINCRBY', prefix .. ':events', 'refused:' .. epoch, refused) end
return answers
"""
)

# ARGV: caller, epoch, ordinal, reason as JSON, reasons to keep
_REJECT = (
    _FENCE
    + _BULK
    + """
local epoch, ordinal = ARGV[4], ARGV[5]
local writes = acknowledge()
if is_past(epoch) then return {'ok', writes, 'past'} end
if redis.call('GETBIT', prefix .. ':committed:' .. epoch, ordinal) == 1 then return {'ok', writes, 0} end
if redis.call('HEXISTS', prefix .. ':claims:' .. epoch, ordinal) == 1 then return {'ok', writes, 0} end
if redis.call('SETBIT', prefix .. ':rejected:' .. epoch, ordinal, 1) == 0 then
  redis.call('SADD', prefix .. ':epochs', epoch)
  count('rejected', epoch, 1)
  if redis.call('HLEN', prefix .. ':reasons') < tonumber(ARGV[7]) then
    redis.call('HSET', prefix .. ':reasons', epoch .. ':' .. ordinal, ARGV[6])
  end
end
return {'ok', writes, 1}
"""
)

# ARGV: epoch, ordinals...
_REJECTED = (
    _BULK
    + """
local epoch, ordinals = ARGV[1], {}
if is_past(epoch) then return 'past' end
for i = 2, #ARGV do ordinals[i - 1] = ARGV[i] end
return bits(prefix .. ':rejected:' .. epoch, ordinals)
"""
)

# ARGV: epoch
_PROGRESS = """
local prefix, epoch = KEYS[1], ARGV[1]
local counts = redis.call('HMGET', prefix .. ':counts', 'committed:' .. epoch, 'rejected:' .. epoch)
return {redis.call('HLEN', prefix .. ':claims:' .. epoch), tonumber(counts[1] or 0), tonumber(counts[2] or 0)}
"""

# ARGV: epoch...; answers with committed, rejected and the entry in `past` of each
_BITMAPS = """
local prefix, bitmaps = KEYS[1], {}
for _, epoch in ipairs(ARGV) do
  bitmaps[#bitmaps + 1] = redis.call('GET', prefix .. ':committed:' .. epoch) or ''
  bitmaps[#bitmaps + 1] = redis.call('GET', prefix .. ':rejected:' .. epoch) or ''
  bitmaps[#bitmaps + 1] = redis.call('HGET', prefix .. ':past', epoch)
end
return bitmaps
"""

# ARGV: caller
_VERIFY = _FENCE + "return {'ok', tonumber(ARGV[3])}"

# ARGV: caller, (another client, writes that were acknowledged to it)...
_SNAPSHOT = (
    _FENCE
    + """
for i = 4, #ARGV, 2 do verify(ARGV[i], ARGV[i + 1]) end
if lost then return {'lost', lost} end
local prefix, bitmaps = KEYS[1], {}
for _, epoch in ipairs(redis.call('SMEMBERS', prefix .. ':epochs')) do
  bitmaps[#bitmaps + 1] = epoch
  bitmaps[#bitmaps + 1] = redis.call('GET', prefix .. ':committed:' .. epoch) or ''
  bitmaps[#bitmaps + 1] = redis.call('GET', prefix .. ':rejected:' .. epoch) or ''
  bitmaps[#bitmaps + 1] = redis.call('HGET', prefix .. ':past', epoch)
end
return {'ok', tonumber(ARGV[3]), bitmaps, redis.call('HGETALL', prefix .. ':reasons')}
"""
)

# ARGV: caller, epoch, its rejected examples as found whole. What is whole stays so within a generation.
# Not counted: it adds nothing, so nothing is lost with it.
_RETIRE = (
    _FENCE
    + """
local prefix, epoch = KEYS[1], ARGV[4]
redis.call('HSET', prefix .. ':past', epoch, ARGV[5])
redis.call('DEL', prefix .. ':committed:' .. epoch, prefix .. ':rejected:' .. epoch)
return {'ok', tonumber(ARGV[3])}
"""
)

# ARGV: caller, where the generation started; one that has ended (1 at the end) does not begin again
_START = (
    _FENCE
    + """
local ended = string.sub(ARGV[4], 1, -2) .. '1'
if redis.call('HGET', meta, 'start') ~= ended then redis.call('HSET', meta, 'start', ARGV[4]) end
return {'ok', acknowledge()}
"""
)

# ARGV: generation, token, length of the next list, (epoch, 1 if it is whole, number committed, number rejected,
# committed, rejected or, of one that is whole, its entry in `past`)..., (name, reason)...
_RESTORE = """
local prefix, generation, token = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local current = tonumber(redis.call('HGET', prefix .. ':meta', 'generation') or '0')
local again = generation == current and redis.call('HGET', prefix .. ':meta', 'restored_by') == token
if again then return {1, current} end
if generation <= current then return {0, current} end

for _, key in ipairs(redis.call('KEYS', prefix .. ':*')) do
  if key ~= prefix .. ':events' then redis.call('DEL', key) end
end
redis.call('HSET', prefix .. ':meta', 'generation', generation, 'restored_by', token)
local epochs = tonumber(ARGV[3])
for i = 4, 3 + epochs, 6 do
  local epoch = ARGV[i]
  redis.call('SADD', prefix .. ':epochs', epoch)
  redis.call('HSET', prefix .. ':counts', 'committed:' .. epoch, ARGV[i + 2], 'rejected:' .. epoch, ARGV[i + 3])
  if ARGV[i + 1] == '1' then
    redis.call('HSET', prefix .. ':past', epoch, ARGV[i + 5])
  else
    redis.call('SET', prefix .. ':committed:' .. epoch, ARGV[i + 4])
    if ARGV[i + 3] ~= '0' then redis.call('SET', prefix .. ':rejected:' .. epoch, ARGV[i + 5]) end
  end
end
for i = 4 + epochs, #ARGV, 2 do redis.call('HSET', prefix .. ':reasons', ARGV[i], ARGV[i + 1]) end
return {1, generation}
"""

SCRIPTS = {
    "bitmaps": _BITMAPS,
    "progress": _PROGRESS,
    "reject": _REJECT,
    "rejected": _REJECTED,
    "restore": _RESTORE,
    "retire": _RETIRE,
    "snapshot": _SNAPSHOT,
    "start": _START,
    "step": _STEP,
    "verify": _VERIFY,
}
